import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment, type JSX } from "react";
import { auditOptions, type AuditEntry } from "../../api/audit.ts";
import { Id } from "../../parts/copy.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { Time } from "../../parts/time.tsx";

/** The audit log, newest first unless the URL asks otherwise. */
export function AuditLog(): JSX.Element {
  const order = useListOrder("at");
  return (
    <List
      query={useInfiniteQuery(auditOptions(order.value))}
      items="audit log entries"
      caption="Audit log"
      more={order.value === "desc" ? "Load older entries" : "Load newer entries"}
      order={order}
      empty={{ title: "No entries yet", text: "Every change in the organisation appears here." }}
      keyOf={(entry) => entry.entry_id}
      columns={[
        {
          id: "at",
          head: "Time",
          cell: (entry) => (
            <span className="audit-when">
              <Time at={entry.at} />
            </span>
          ),
        },
        { id: "operation", head: "Operation", cell: (entry) => <Operation entry={entry} /> },
        { id: "target", head: "Target", wideOnly: true, cell: ({ target }) => <Named thing={target} /> },
        { id: "fields", head: "Fields", wideOnly: true, cell: (entry) => <Fields entry={entry} /> },
        { id: "who", head: "Actor", cell: ({ actor }) => <Named thing={actor} /> },
        { id: "address", head: "IP address", wideOnly: true, cell: ({ actor }) => actor.address ?? "-" },
      ]}
    />
  );
}

/**
 * In a narrow window, a long name such as `createWebhookSubscription` wraps between its words and its target moves
 * below it, to leave room for the column with the user.
 */
function Operation({ entry }: { readonly entry: AuditEntry }): JSX.Element {
  return (
    <span className="audit-operation">
      {entry.operation.split(/(?=[A-Z])/).map((word, at) => (
        <Fragment key={at}>
          <wbr />
          {word}
        </Fragment>
      ))}
      {entry.outcome === "failure" && " (failed)"}
      <span className="narrow-only">
        <Named thing={entry.target} />
      </span>
    </span>
  );
}

/** The changed fields; hovering shows their values before and after. */
function Fields({ entry }: { readonly entry: AuditEntry }): JSX.Element {
  return (
    <span className="wrap" title={JSON.stringify(entry.changes, null, 2)}>
      {Object.keys(entry.changes).join(", ") || "-"}
    </span>
  );
}

type Thing = { readonly type: string; readonly id: string | null } | null;

/** Target types for which the console uses another word than the API. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  org_api_key: "API key",
  key: "API key",
  subscription: "webhook",
  cli: "command line",
};

function Named({ thing }: { readonly thing: Thing }): JSX.Element {
  if (thing === null) return <>-</>;
  const type = TYPE_NAMES[thing.type] ?? thing.type.replaceAll("_", " ");
  return (
    <>
      {type} {thing.id !== null && <Id id={thing.id} label={`${type} ID`} />}
    </>
  );
}
