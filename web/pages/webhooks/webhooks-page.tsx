import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { createSubscription, subscriptionsOptions, useWebhookChange } from "../../api/webhooks.ts";
import type { Subscription } from "../../api/webhooks.ts";
import { links } from "../../links.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";

/** The subscriptions and how their deliveries go. */
export function WebhooksPage(): JSX.Element {
  const isAdmin = useMay("admin");
  const [search, setSearch] = useSearchParams();
  const which = search.get("failing") === "true" ? "failing" : "all";
  const { data, error, isPending, refetch } = useQuery(subscriptionsOptions(which));
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <PageHead title="Webhooks">
        <select
          className="input input-short"
          aria-label="Which"
          data-search
          value={which}
          onChange={({ target: { value } }) => setSearch(value === "failing" ? { failing: "true" } : {})}
        >
          <option value="all">All</option>
          <option value="failing">Failing</option>
        </select>
        {isAdmin && (
          <button type="button" className="button button-primary" onClick={() => setAdding(true)}>
            <Icon name="plus" /> Subscribe
          </button>
        )}
      </PageHead>
      {isPending && <Loading what="subscriptions" />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && which === "failing" && (
        <Empty title="No webhook is failing">
          A webhook is failing while all its attempts fail, and when it was disabled for that. One that somebody has
          disabled is not.
        </Empty>
      )}
      {data?.data.length === 0 && which === "all" && (
        <Empty title="No subscription yet">
          Subscribe a web address, and it is sent a signed request for each event: runs that end, pauses that open, and
          more.
        </Empty>
      )}
      {data && data.data.length > 0 && (
        <Table
          caption="Subscriptions"
          rows={data.data}
          keyOf={(each) => each.subscription_id}
          columns={[
            {
              id: "state",
              head: "State",
              cell: (each) => <Status state={stateOf(each)} />,
            },
            {
              id: "url",
              head: "Address",
              cell: (each) => (
                <Link className="wrap" to={links.webhook(each.subscription_id)} data-row>
                  {each.url}
                </Link>
              ),
            },
            {
              id: "description",
              head: "What for",
              wideOnly: true,
              cell: (each) => <span className="wrap">{each.description}</span>,
            },
            { id: "events", head: "Events", wideOnly: true, cell: (each) => each.events.join(", ") },
            {
              id: "success",
              head: "Last success",
              wideOnly: true,
              cell: (each) => <Time at={each.last_success_at} />,
            },
            { id: "failing", head: "Failing since", cell: (each) => <Time at={each.failing_since} /> },
          ]}
        />
      )}
      {isAdding && <Subscribe onClose={() => setAdding(false)} />}
    </>
  );
}

/** Whether it is enabled, and then whether anything arrives. */
export const stateOf = ({ status, failing_since }: Subscription): string =>
  status === "enabled" && failing_since !== null ? "retrying" : status;

function Subscribe({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const create = useWebhookChange(createSubscription);
  const problem = create.error && toProblem(create.error);
  if (create.data) return <NewSecret secret={create.data.secret} onClose={onClose} />;
  return (
    <Dialog title="Subscribe" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={onTexts((given) => {
          create.mutate({
            url: given("url"),
            events: given("events")
              .split(/[\s,]+/)
              .filter((each) => each !== ""),
            description: given("description"),
          });
        })}
      >
        <Field label="Address" hint="It has to be reachable from here." errors={errorsAt(problem, "url")}>
          {(control) => (
            <input className="input" name="url" type="url" placeholder="https://" data-first {...control} />
          )}
        </Field>
        <Field
          label="Events"
          hint="Types, patterns as run.*, or * for all; with commas between."
          errors={errorsAt(problem, "events")}
        >
          {(control) => <input className="input mono" name="events" defaultValue="run.*" {...control} />}
        </Field>
        <Field label="What for (optional)" errors={errorsAt(problem, "description")}>
          {(control) => <input className="input" name="description" {...control} />}
        </Field>
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Subscribe</Submit>
      </form>
    </Dialog>
  );
}

export function NewSecret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }): JSX.Element {
  return (
    <ShownOnce
      title="The signing secret"
      what="secret"
      secret={secret}
      note="It is shown now and never again. The receiver checks signatures with it."
      onClose={onClose}
    />
  );
}
