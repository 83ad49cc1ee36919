import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import type { JSX } from "react";
import { auditOptions } from "../../api/audit.ts";
import type { AuditEntry } from "../../api/audit.ts";
import { toProblem } from "../../api/problem.ts";
import { Id } from "../../parts/copy.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

/** Who has changed what, newest first. */
export function AuditLog(): JSX.Element {
  const log = useInfiniteQuery(auditOptions);
  const { data, error, isPending, refetch } = log;
  if (isPending) return <Loading what="audit log" />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  return (
    <>
      <Table
        caption="Audit log"
        rows={data.pages.flatMap((page) => page.data)}
        keyOf={(entry) => entry.entry_id}
        columns={[
          {
            id: "at",
            head: "When",
            cell: (entry) => (
              <span className="audit-when">
                <Time at={entry.at} />
              </span>
            ),
          },
          { id: "operation", head: "What", cell: (entry) => <Operation entry={entry} /> },
          { id: "target", head: "Of", wideOnly: true, cell: ({ target }) => <Named thing={target} /> },
          { id: "fields", head: "Fields", wideOnly: true, cell: (entry) => <Fields entry={entry} /> },
          { id: "who", head: "Who", cell: ({ actor }) => <Named thing={actor} /> },
          { id: "address", head: "Address", wideOnly: true, cell: ({ actor }) => actor.address ?? "-" },
        ]}
      />
      {log.hasNextPage && <MoreButton pages={log}>Older entries</MoreButton>}
    </>
  );
}

/**
 * In a narrow window a name such as `createWebhookSubscription` goes on in a new line between its words, and what it was
 * done to is below it, so that there is room for who did it.
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
      {entry.outcome === "failure" && " (refused)"}
      <span className="narrow-only">
        <Named thing={entry.target} />
      </span>
    </span>
  );
}

/** Before and after of each field are on hover. */
function Fields({ entry }: { readonly entry: AuditEntry }): JSX.Element {
  return (
    <span className="wrap" title={JSON.stringify(entry.changes, null, 2)}>
      {Object.keys(entry.changes).join(", ") || "-"}
    </span>
  );
}

type Thing = { readonly type: string; readonly id: string | null } | null;

function Named({ thing }: { readonly thing: Thing }): JSX.Element {
  if (thing === null) return <>-</>;
  const type = thing.type.replaceAll("_", " ");
  return (
    <>
      {type} {thing.id !== null && <Id id={thing.id} label={`${type} id`} />}
    </>
  );
}
