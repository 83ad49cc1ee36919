import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { cancelSync, failedItemsOptions, syncsOptions, useKnowledgeAction, type Sync } from "../../api/knowledge.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Id } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { Rows } from "../../parts/list/rows.tsx";
import { Status } from "../../parts/status.tsx";
import { Elapsed, Time } from "../../parts/time.tsx";
import { useFilters } from "../filters.ts";

const isOpen = ({ state }: Sync): boolean => state === "pending" || state === "running";

/** Syncs of a knowledge base: progress, changes, and errors. */
export function Syncs({ knowledgeBaseId }: { readonly knowledgeBaseId: string }): JSX.Element {
  const [search, put] = useFilters();
  const chosen = search.get("sync");
  // Keeps the filter of the list above.
  const documents = search.get("documents");
  const isEditor = useMay("editor");
  const order = useListOrder("at", "syncs");
  const list = useQuery(syncsOptions(knowledgeBaseId, order.value));
  const [leaving, setLeaving] = useState<Sync | null>(null);
  const cancel = useKnowledgeAction(cancelSync);
  return (
    <section
      className="stack-tight"
      aria-label={order.value === "desc" ? "Syncs, newest first" : "Syncs, oldest first"}
    >
      <h2>Syncs</h2>
      <List
        query={list}
        order={order}
        items="syncs"
        caption="Syncs"
        placeholder={3}
        keyOf={({ sync_id }) => sync_id}
        empty={{ title: "No syncs yet", text: "Syncs appear here, newest first. Choose Sync now to start one." }}
        columns={[
          { id: "state", head: "State", cell: ({ state }) => <Status state={state} /> },
          { id: "what", head: "Details", cell: (sync) => <What sync={sync} /> },
          {
            id: "failed",
            head: "Failed",
            number: true,
            cell: ({ sync_id, counts }) =>
              counts.failed === 0 ? (
                "0"
              ) : (
                <Link
                  to={links.knowledgeBase(knowledgeBaseId, {
                    ...(documents !== null && { documents }),
                    sync: sync_id,
                  })}
                  data-row
                >
                  {counts.failed.toLocaleString()}
                  <span className="visually-hidden"> failed: show documents</span>
                </Link>
              ),
          },
          { id: "at", head: "Created", wideOnly: true, cell: (sync) => <Time at={sync.created_at} /> },
          {
            id: "took",
            head: "Duration",
            number: true,
            wideOnly: true,
            cell: (sync) => <Elapsed from={sync.started_at} to={sync.finished_at} />,
          },
          ...(isEditor && list.data?.data.some(isOpen) === true
            ? [
                {
                  id: "actions",
                  head: "Actions",
                  cell: (sync: Sync) =>
                    isOpen(sync) && (
                      <button
                        type="button"
                        className="button button-small button-danger"
                        data-row
                        disabled={sync.cancel_requested}
                        onClick={() => setLeaving(sync)}
                      >
                        {sync.cancel_requested ? "Cancelling…" : "Cancel…"}
                      </button>
                    ),
                },
              ]
            : []),
        ]}
      />
      {chosen !== null && (
        <FailedItems knowledgeBaseId={knowledgeBaseId} syncId={chosen} onClose={() => put("sync", null)} />
      )}
      {leaving && (
        <Confirm
          title="Cancel sync"
          action="Cancel sync"
          dismiss="Keep running"
          fault={cancel.error && toProblem(cancel.error)}
          isPending={cancel.isPending}
          onClose={() => setLeaving(null)}
          onConfirm={() =>
            cancel.mutate(
              { knowledge_base_id: knowledgeBaseId, sync_id: leaving.sync_id },
              { onSuccess: () => setLeaving(null) },
            )
          }
        >
          Stops within seconds. Documents already indexed, or being indexed now, are kept.
        </Confirm>
      )}
    </section>
  );
}

const MODES: Readonly<Record<Sync["mode"], string>> = {
  incremental: "Incremental",
  full: "Full reindex",
  dry_run: "Dry run",
};

/** What started the sync, its progress, and why it failed. */
function What({ sync }: { readonly sync: Sync }): JSX.Element {
  const { counts, total, error } = sync;
  const done = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const changed = (["added", "updated", "deleted"] as const).filter((each) => counts[each] > 0);
  return (
    <span className="wrap">
      {MODES[sync.mode]}
      {sync.trigger === "schedule" && ", scheduled"}: {done.toLocaleString()} of {total.toLocaleString()}
      {changed.map((each) => `, ${counts[each].toLocaleString()} ${each}`).join("")}
      <span className="narrow-only small muted">
        <Time at={sync.created_at} />
      </span>
      {error !== null && (
        <span className="hint">
          <strong>{error.code}</strong> {error.message}
        </span>
      )}
    </span>
  );
}

/** Documents that a sync failed to read, with the reasons. */
function FailedItems({
  knowledgeBaseId,
  syncId,
  onClose,
}: {
  readonly knowledgeBaseId: string;
  readonly syncId: string;
  readonly onClose: () => void;
}): JSX.Element {
  const list = useInfiniteQuery(failedItemsOptions(knowledgeBaseId, syncId));
  return (
    <Dialog title="Documents this sync could not read" onClose={onClose} wide>
      <p>
        <Id id={syncId} label="sync ID" />
      </p>
      <Rows
        isBare
        query={list}
        items="failed documents"
        placeholder={4}
        empty={{ title: "No details", text: "Details per document are kept for the last five syncs." }}
      >
        {(items) => (
          <ul className="stack-tight" aria-label="Failed documents">
            {items.map(({ item_id, address, error }) => (
              <li key={item_id} className="wrap">
                {address}
                {error !== null && (
                  <span className="hint">
                    <strong>{error.code}</strong> {error.message}
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
      </Rows>
    </Dialog>
  );
}
