import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { auditOptions } from "../../api/audit.ts";
import type { AuditEntry } from "../../api/audit.ts";
import { toProblem } from "../../api/problem.ts";
import { Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

/** Who has changed what, newest first. */
export function AuditLog(): JSX.Element {
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(auditOptions);
  if (isPending) return <Loading what="audit log" />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  return (
    <>
      <section className="panel panel-flush">
        <Table
          caption="Audit log"
          rows={data.pages.flatMap((page) => page.data)}
          keyOf={(entry) => entry.entry_id}
          columns={[
            { id: "at", head: "When", cell: (entry) => <Time at={entry.at} /> },
            { id: "operation", head: "What", cell: (entry) => <Operation entry={entry} /> },
            { id: "target", head: "Of", cell: ({ target }) => <span className="wrap">{named(target)}</span> },
            { id: "fields", head: "Fields", wideOnly: true, cell: (entry) => <Fields entry={entry} /> },
            {
              id: "who",
              head: "Who",
              cell: ({ actor }) => <span className="wrap">{named(actor)}</span>,
            },
            { id: "address", head: "Address", wideOnly: true, cell: ({ actor }) => actor.address ?? "-" },
          ]}
        />
      </section>
      {hasNextPage && (
        <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Older entries
        </button>
      )}
    </>
  );
}

function Operation({ entry }: { readonly entry: AuditEntry }): JSX.Element {
  return (
    <span>
      {entry.operation}
      {entry.outcome === "failure" && " (refused)"}
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

function named(thing: { readonly type: string; readonly id: string | null } | null): string {
  return thing === null ? "-" : [thing.type, thing.id].filter((each) => each !== null).join(" ");
}
