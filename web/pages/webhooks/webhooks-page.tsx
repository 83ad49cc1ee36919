import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { createSubscription, subscriptionsOptions, useWebhookChange, type Subscription } from "../../api/webhooks.ts";
import { links } from "../../links.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { PageHead } from "../../parts/page.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { Failure } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";

/** The webhooks, and whether their deliveries succeed. */
export function WebhooksPage(): JSX.Element {
  const isAdmin = useMay("admin");
  const [search, setSearch] = useSearchParams();
  const which = search.get("failing") === "true" ? "failing" : "all";
  const order = useListOrder("created");
  const list = useQuery(subscriptionsOptions(which, order.value));
  const [isAdding, setAdding] = useState(false);
  const add = (
    <button type="button" className="button button-primary" onClick={() => setAdding(true)}>
      <Icon name="plus" /> Add webhook
    </button>
  );
  return (
    <>
      <PageHead about="URLs that receive events, with every delivery.">
        <select
          className="input input-short"
          aria-label="Filter"
          data-search
          value={which}
          onChange={({ target: { value } }) => setSearch(value === "failing" ? { failing: "true" } : {})}
        >
          <option value="all">All</option>
          <option value="failing">Failing</option>
        </select>
        {isAdmin && add}
      </PageHead>
      <List
        query={list}
        order={order}
        items="webhooks"
        caption="Webhooks"
        keyOf={(each) => each.subscription_id}
        empty={{
          title: "No webhooks yet",
          text: "Add a URL to receive a signed request for each event.",
          action: isAdmin && add,
        }}
        onClear={which === "failing" ? () => setSearch({}) : undefined}
        columns={[
          {
            id: "state",
            head: "State",
            cell: (each) => <Status state={stateOf(each)} />,
          },
          {
            id: "url",
            head: "URL",
            cell: (each) => (
              <Link className="wrap" to={links.webhook(each.subscription_id)} data-row>
                {each.url}
              </Link>
            ),
          },
          {
            id: "description",
            head: "Description",
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
          { id: "created", head: "Created", wideOnly: true, cell: (each) => <Time at={each.created_at} /> },
        ]}
      />
      {isAdding && <Subscribe onClose={() => setAdding(false)} />}
    </>
  );
}

/** The status, or "retrying" for an enabled webhook whose deliveries currently fail. */
export const stateOf = ({ status, failing_since }: Subscription): string =>
  status === "enabled" && failing_since !== null ? "retrying" : status;

function Subscribe({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const create = useWebhookChange(createSubscription);
  const problem = create.error && toProblem(create.error);
  if (create.data) return <NewSecret secret={create.data.secret} onClose={onClose} />;
  return (
    <Dialog title="Add webhook" onClose={onClose}>
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
        <Field label="URL" hint="Must be reachable from the Millrace servers." errors={errorsAt(problem, "url")}>
          {(control) => (
            <input className="input" name="url" type="url" placeholder="https://" data-first {...control} />
          )}
        </Field>
        <Field
          label="Events"
          hint="Event types, patterns such as run.*, or * for all. Separate with commas."
          errors={errorsAt(problem, "events")}
        >
          {(control) => <input className="input mono" name="events" defaultValue="run.*" {...control} />}
        </Field>
        <Field label="Description (optional)" errors={errorsAt(problem, "description")}>
          {(control) => <input className="input" name="description" {...control} />}
        </Field>
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Add webhook</Submit>
      </form>
    </Dialog>
  );
}

export function NewSecret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }): JSX.Element {
  return (
    <ShownOnce
      title="Signing secret"
      what="secret"
      secret={secret}
      note="Your receiver verifies signatures with this secret. Copy it now; you cannot see it again."
      onClose={onClose}
    />
  );
}
