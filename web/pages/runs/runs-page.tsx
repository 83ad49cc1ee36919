import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { useSearchParams } from "react-router";
import { toProblem } from "../../api/problem.ts";
import { newestRunsOptions, runsOptions, useRunsInPlace } from "../../api/runs.ts";
import { NewerNotice } from "../../parts/list-changes.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { curlOfRuns } from "./curl.ts";
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
  const list = useInfiniteQuery(runsOptions(filters));
  const { data: newest } = useQuery({ ...newestRunsOptions(filters), enabled: list.data !== undefined });
  const shown = list.data?.pages.flatMap((page) => page.data) ?? [];
  useRunsInPlace(filters, shown);
  if (list.isPending) return <Loading what="runs" rows={10} />;
  if (list.data === undefined) return <Failure fault={toProblem(list.error)} retry={() => void list.refetch()} />;

  const notice = (
    <NewerNotice
      newest={newest}
      top={shown[0]?.run_id ?? ""}
      idOf={({ run_id }) => run_id}
      words={["run", "runs"]}
      isReading={list.isRefetching}
      onShow={() => void list.refetch()}
    />
  );
  if (shown.length === 0 && (newest?.data ?? []).length === 0)
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
      <RunTable runs={shown} notice={notice} command={curlOfRuns(filters)} />
      {list.hasNextPage && (
        <div className="row">
          <MoreButton pages={list}>Older runs</MoreButton>
        </div>
      )}
      {list.error !== null && <Failure fault={toProblem(list.error)} retry={() => void list.fetchNextPage()} />}
    </>
  );
}
