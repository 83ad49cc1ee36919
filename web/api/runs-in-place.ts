import { useQueries, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import { POLL_MS, isTerminal, runsOptions, type Order, type Run, type RunFilters } from "./runs.ts";

/** Run IDs per request. */
const NAMED = 100;

/** Polls the unfinished runs of a list and updates their rows in place. */
export function useRunsInPlace(filters: RunFilters, order: Order, runs: readonly Run[]): void {
  const client = useQueryClient();
  const { queryKey } = runsOptions(filters, order);
  const open = runs.filter(({ state }) => !isTerminal(state)).map(({ run_id }) => run_id);
  const parts = Array.from({ length: Math.ceil(open.length / NAMED) }, (_, at) =>
    open.slice(at * NAMED, (at + 1) * NAMED),
  );
  useQueries({
    queries: parts.map((run_id) => ({
      queryKey: ["runs", "named", run_id],
      // The key lists the unfinished runs and changes whenever one finishes, so old entries are never read again.
      gcTime: 0,
      refetchInterval: POLL_MS,
      queryFn: async () => {
        const page = await unwrap(api.GET("/v2/runs", { params: { query: { run_id, page_size: NAMED } } }));
        const now = new Map(page.data.map((run) => [run.run_id, run]));
        client.setQueryData(queryKey, (known) => known && { ...known, pages: known.pages.map(inPlace(now)) });
        return page.data.length;
      },
    })),
  });
}

const inPlace =
  (now: ReadonlyMap<string, Run>) =>
  <Page extends { readonly data: Run[] }>(page: Page): Page => ({
    ...page,
    data: page.data.map((run) => now.get(run.run_id) ?? run),
  });
