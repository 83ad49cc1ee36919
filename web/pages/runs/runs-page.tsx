import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { useSearchParams } from "react-router";
import { toProblem } from "../../api/problem.ts";
import { newestRunsOptions, runsOptions } from "../../api/runs.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading, Notice } from "../../parts/states.tsx";
import { BulkActions } from "./bulk-actions.tsx";
import { filtersOf, withFilter } from "./filters.ts";
import { RunFiltersBar } from "./run-filters.tsx";
import { RunJobPanel } from "./run-job.tsx";
import { RunTable } from "./run-table.tsx";
import "./runs.css";

/** The list of runs. It stays as it was read: newer runs are announced above it and shown when asked for; states change in place. */
export function RunsPage(): JSX.Element {
  const [search] = useSearchParams();
  const job = search.get("job");
  const filters = withFilter(search, "job", null);
  return (
    <>
      <PageHead title="Runs">
        <BulkActions />
      </PageHead>
      <RunFiltersBar />
      {job !== null && <RunJobPanel jobId={job} />}
      <RunList key={filters.toString()} search={filters} />
    </>
  );
}

function RunList({ search }: { readonly search: URLSearchParams }): JSX.Element {
  const filters = filtersOf(search);
  const { data: newest } = useQuery(newestRunsOptions(filters));
  const list = useInfiniteQuery(runsOptions(filters));
  const [shownTop, setShownTop] = useState<string | null>(null);
  if (list.isPending) return <Loading what="runs" rows={10} />;
  if (list.data === undefined) return <Failure fault={toProblem(list.error)} retry={() => void list.refetch()} />;

  const read = list.data.pages.flatMap((page) => page.data);
  const current = new Map(newest?.data.map((run) => [run.run_id, run]));
  const top = shownTop ?? read[0]?.run_id ?? "";
  // Ids are in the order of creation.
  const newer = (newest?.data ?? []).filter(({ run_id }) => run_id > top);
  const known = new Set(read.map(({ run_id }) => run_id));
  const shown = [
    ...(shownTop === null ? [] : (newest?.data ?? []).filter((run) => run.run_id <= top && !known.has(run.run_id))),
    ...read,
  ].map((run) => current.get(run.run_id) ?? run);

  if (shown.length === 0 && newer.length === 0)
    return search.size === 0 ? (
      <Empty title="No run yet">
        Deploy a flow and run it: <code>npx millrace run</code>, or <code>POST /v2/runs</code>. It is here as soon as it
        exists.
      </Empty>
    ) : (
      <Empty title="No run matches">Take a filter away, or wait: runs that match appear by themselves.</Empty>
    );
  return (
    <>
      {newer.length > 0 && (
        <Notice tone="info">
          <span>
            {newer.length} newer {newer.length === 1 ? "run" : "runs"}
          </span>
          <button
            type="button"
            className="button button-small"
            onClick={() => {
              setShownTop(newer[0]?.run_id ?? null);
              void list.refetch();
            }}
          >
            Show
          </button>
        </Notice>
      )}
      <RunTable runs={shown} />
      {list.hasNextPage && (
        <div className="row">
          <button
            type="button"
            className="button"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            {list.isFetchingNextPage ? "Loading…" : "Older runs"}
          </button>
        </div>
      )}
      {list.error !== null && <Failure fault={toProblem(list.error)} retry={() => void list.fetchNextPage()} />}
    </>
  );
}
