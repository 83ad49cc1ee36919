import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { useRunsInPlace } from "../../api/runs-in-place.ts";
import { newestRunsOptions, runsOptions } from "../../api/runs.ts";
import { CopyCurl } from "../../parts/copy.tsx";
import { NewerNotice } from "../../parts/list-changes.tsx";
import { PageHead } from "../../parts/page.tsx";
import { curlOfRuns } from "./curl.ts";
import { BulkActions } from "./bulk-actions.tsx";
import { filtersOf, orderOf, withFilter } from "./filters.ts";
import { RunFiltersBar } from "./run-filters.tsx";
import { RunJobPanel } from "./run-job.tsx";
import { RunTable } from "./run-table.tsx";
import "./runs.css";

/** Rows that can be selected; one bulk action names at most as many runs. */
const MOST_SELECTED = 100;

/** The list of runs. Newer runs are announced above it and shown on request; states of listed runs change in place. */
export function RunsPage(): JSX.Element {
  const [search] = useSearchParams();
  const job = search.get("job");
  const listed = withFilter(search, "job", null);
  const name = listed.toString();
  // A selection belongs to the list that it was made in.
  const [selected, setSelected] = useState<{ readonly name: string; readonly runs: ReadonlySet<string> }>({
    name,
    runs: new Set(),
  });
  const chosen = selected.name === name ? selected.runs : new Set<string>();
  return (
    <>
      <PageHead about="All runs, newest first.">
        <BulkActions chosen={[...chosen]} />
      </PageHead>
      <RunFiltersBar />
      {job !== null && <RunJobPanel jobId={job} />}
      <RunList key={name} search={listed} chosen={chosen} onChoose={(runs) => setSelected({ name, runs })} />
    </>
  );
}

function RunList({
  search,
  chosen,
  onChoose,
}: {
  readonly search: URLSearchParams;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (runs: ReadonlySet<string>) => void;
}): JSX.Element {
  const [, setSearch] = useSearchParams();
  const filters = filtersOf(search);
  const order = orderOf(search);
  const list = useInfiniteQuery(runsOptions(filters, order));
  // Of a list that starts with the oldest run, newer ones are not at the top.
  const isNewestFirst = order === "desc";
  const { data: newest } = useQuery({
    ...newestRunsOptions(filters),
    enabled: list.data !== undefined && isNewestFirst,
  });
  const shown = list.data?.pages.flatMap((page) => page.data) ?? [];
  useRunsInPlace(filters, order, shown);
  const mayAct = useMay("editor");
  const hasFilters = withFilter(search, "order", null).size > 0;
  return (
    <RunTable
      query={list}
      onClear={hasFilters ? () => setSearch(new URLSearchParams()) : undefined}
      line={
        list.data && (
          <>
            {isNewestFirst && (
              <NewerNotice
                newest={newest}
                top={shown[0]?.run_id ?? ""}
                idOf={({ run_id }) => run_id}
                words={["run", "runs"]}
                isReading={list.isRefetching}
                onShow={() => void list.refetch()}
              />
            )}
            <CopyCurl command={curlOfRuns({ ...filters, ...(!isNewestFirst && { order }) })} />
          </>
        )
      }
      order={{
        column: "created",
        value: order,
        onChange: (value) => setSearch((known) => withFilter(known, "order", value === "desc" ? null : value)),
      }}
      {...(mayAct && {
        selection: {
          chosen,
          onChange: onChoose,
          nameOf: ({ run_id }) => `run ${run_id}`,
          most: MOST_SELECTED,
        },
      })}
    />
  );
}
