import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { cancelSync, failedItemsOptions, syncsOptions, useKnowledgeAction } from "../../api/knowledge.ts";
import type { Sync } from "../../api/knowledge.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Id } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { Elapsed, Time } from "../../parts/time.tsx";
import { useFilters } from "../filters.ts";

const isOpen = ({ state }: Sync): boolean => state === "pending" || state === "running";

/** The syncs of a knowledge base: how far each is, what it has changed, and why it failed. */
export function Syncs({ knowledgeBaseId }: { readonly knowledgeBaseId: string }): JSX.Element {
  const [search, put] = useFilters();
  const chosen = search.get("sync");
  // The list above stays as it is filtered.
  const documents = search.get("documents");
  const isEditor = useMay("editor");
  const { data, error, isPending, refetch } = useQuery(syncsOptions(knowledgeBaseId));
  const [leaving, setLeaving] = useState<Sync | null>(null);
  const cancel = useKnowledgeAction(cancelSync);
  return (
    <section className="stack-tight" aria-label="Syncs, the newest">
      <h2>Syncs</h2>
      {isPending && <Loading what="syncs" rows={3} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel">
          <Empty title="None yet">Each time its sources are read again is listed here, the newest first.</Empty>
        </div>
      )}
      {data && data.data.length > 0 && (
        <Table
          caption="Syncs"
          rows={data.data}
          keyOf={({ sync_id }) => sync_id}
          columns={[
            { id: "state", head: "State", cell: ({ state }) => <Status state={state} /> },
            { id: "what", head: "What", cell: (sync) => <What sync={sync} /> },
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
                    <span className="visually-hidden"> failed: which and why</span>
                  </Link>
                ),
            },
            { id: "at", head: "Started", wideOnly: true, cell: (sync) => <Time at={sync.created_at} /> },
            {
              id: "took",
              head: "Took",
              number: true,
              wideOnly: true,
              cell: (sync) => <Elapsed from={sync.started_at} to={sync.finished_at} />,
            },
            ...(isEditor && data.data.some(isOpen)
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
                          {sync.cancel_requested ? "Being cancelled" : "Cancel…"}
                        </button>
                      ),
                  },
                ]
              : []),
          ]}
        />
      )}
      {data?.has_more === true && (
        <p className="small muted">The newest {data.data.length.toLocaleString()} are shown; the API has the others.</p>
      )}
      {chosen !== null && (
        <FailedItems knowledgeBaseId={knowledgeBaseId} syncId={chosen} onClose={() => put("sync", null)} />
      )}
      {leaving && (
        <Confirm
          title="Cancel the sync"
          action="Cancel the sync"
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
          It ends within seconds. What it has indexed stays, and what is being indexed will be.
        </Confirm>
      )}
    </section>
  );
}

const MODES: Readonly<Record<Sync["mode"], string>> = {
  incremental: "What is new",
  full: "Everything anew",
  dry_run: "A trial: changes nothing",
};

/** What began it, how far it is, and why it failed as a whole. */
function What({ sync }: { readonly sync: Sync }): JSX.Element {
  const { counts, total, error } = sync;
  const done = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const changed = (["added", "updated", "deleted"] as const).filter((each) => counts[each] > 0);
  return (
    <span className="wrap">
      {MODES[sync.mode]}
      {sync.trigger === "schedule" && ", by its schedule"}: {done.toLocaleString()} of {total.toLocaleString()}
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

/** The documents that a sync could not read, and why. */
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
  const items = list.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Dialog title="What the sync could not read" onClose={onClose} wide>
      <p>
        <Id id={syncId} label="sync id" />
      </p>
      {list.isPending && <Loading what="what failed" rows={4} />}
      {list.error !== null && <Failure fault={toProblem(list.error)} retry={() => void list.refetch()} />}
      {list.data && items.length === 0 && (
        <Empty title="Nothing is listed">Of the last five syncs it is kept what happened to each document.</Empty>
      )}
      <ul className="stack-tight" aria-label="Documents that failed">
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
      {list.hasNextPage && (
        <div className="row">
          <MoreButton pages={list}>More that failed</MoreButton>
        </div>
      )}
    </Dialog>
  );
}
