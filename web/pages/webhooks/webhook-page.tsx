import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import type { Tagged } from "../../api/client.ts";
import { isStale, toProblem } from "../../api/problem.ts";
import {
  changeSubscription,
  deleteSubscription,
  rotateSecret,
  subscriptionOptions,
  testSubscription,
  useWebhookChange,
  type Subscription,
} from "../../api/webhooks.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Id } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { PageHead } from "../../parts/page.tsx";
import { ChangedMeanwhile, Failure } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { Deliveries } from "./deliveries.tsx";
import { Replay } from "./replay.tsx";
import { SignatureChecker } from "./signature-checker.tsx";
import { NewSecret, stateOf } from "./webhooks-page.tsx";

/** One webhook: its status, and every delivery. */
export function WebhookPage(): JSX.Element {
  const { subscriptionId = "" } = useParams();
  const webhook = useQuery(subscriptionOptions(subscriptionId));
  if (webhook.data === undefined)
    return (
      <>
        {webhook.error !== null && <PageHead />}
        <Fetched query={webhook} what="the webhook" />
        {webhook.error !== null && <Link to={links.webhooks()}>All webhooks</Link>}
      </>
    );
  const { data } = webhook;
  return (
    <>
      <PageHead title={data.url}>
        <Check subscriptionId={data.subscription_id} />
        <Actions subscription={data} />
      </PageHead>
      <dl className="panel facts facts-line">
        <Fact term="State">
          <Status state={stateOf(data)} />
          {data.disabled_reason !== null && <span className="muted"> (reason: {data.disabled_reason})</span>}
        </Fact>
        <Fact term="Events">{data.events.join(", ")}</Fact>
        <Fact term="Subscription ID">
          <Id id={data.subscription_id} label="subscription ID" />
        </Fact>
        <Fact term="Last success">
          <Time at={data.last_success_at} />
        </Fact>
        <Fact term="Failing since">
          <Time at={data.failing_since} />
        </Fact>
        {data.description !== "" && <Fact term="Description">{data.description}</Fact>}
      </dl>
      <Deliveries subscriptionId={data.subscription_id} />
    </>
  );
}

function Check({ subscriptionId }: { readonly subscriptionId: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Check a signature…
      </button>
      {isOpen && <SignatureChecker subscriptionId={subscriptionId} onClose={() => setOpen(false)} />}
    </>
  );
}

function Actions({ subscription }: { readonly subscription: Tagged<Subscription> }): JSX.Element | null {
  const { subscription_id, etag, status } = subscription;
  const isEditor = useMay("editor");
  const isAdmin = useMay("admin");
  const [open, setOpen] = useState<"replay" | "rotate" | "delete" | null>(null);
  const close = (): void => setOpen(null);
  const test = useWebhookChange(testSubscription);
  const change = useWebhookChange(changeSubscription);
  const rotate = useWebhookChange(rotateSecret);
  const remove = useWebhookChange(deleteSubscription);
  const navigate = useNavigate();
  if (!isEditor) return null;
  const failed = test.error ?? change.error;
  return (
    <>
      {isStale(failed) ? <ChangedMeanwhile /> : failed && <Failure fault={failed} />}
      <button type="button" className="button" disabled={test.isPending} onClick={() => test.mutate(subscription_id)}>
        Send test event
      </button>
      <button type="button" className="button" onClick={() => setOpen("replay")}>
        Replay…
      </button>
      {isAdmin && (
        <>
          <button
            type="button"
            className="button"
            disabled={change.isPending}
            onClick={() =>
              change.mutate({ subscription_id, etag, status: status === "enabled" ? "disabled" : "enabled" })
            }
          >
            {status === "enabled" ? "Disable" : "Enable"}
          </button>
          <button type="button" className="button" onClick={() => setOpen("rotate")}>
            Rotate secret…
          </button>
          <button type="button" className="button button-danger" onClick={() => setOpen("delete")}>
            Delete…
          </button>
        </>
      )}
      {open === "replay" && <Replay subscriptionId={subscription_id} onClose={close} />}
      {open === "rotate" &&
        (rotate.data ? (
          <NewSecret secret={rotate.data.secret} onClose={close} />
        ) : (
          <Confirm
            title="Rotate signing secret"
            action="Rotate"
            fault={rotate.error && toProblem(rotate.error)}
            isPending={rotate.isPending}
            onClose={close}
            onConfirm={() => rotate.mutate(subscription_id)}
          >
            For 24 hours deliveries are signed with both secrets, so you can update the receiver.
          </Confirm>
        ))}
      {open === "delete" && (
        <Confirm
          title="Delete webhook"
          action="Delete"
          fault={remove.error && toProblem(remove.error)}
          isPending={remove.isPending}
          onClose={close}
          onConfirm={() => remove.mutate(subscription_id, { onSuccess: () => void navigate(links.webhooks()) })}
        >
          Pending deliveries are cancelled and no more events are sent.
        </Confirm>
      )}
    </>
  );
}
