import { infiniteQueryOptions, queryOptions, useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import type { Schemas } from "./client.ts";

export type Run = Schemas["Run"];
export type RunWithNodes = Schemas["RunWithNodes"];
export type NodeRun = Schemas["NodeRun"];
export type NodeDetail = Schemas["NodeRunDetail"];
export type RunState = Run["state"];

export const RUN_STATES: readonly RunState[] = [
  "PENDING",
  "RUNNING",
  "PAUSED",
  "RESUMED",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
];
export const RUN_TYPES = ["api", "batch", "trigger", "scheduled", "sub_workflow"] as const;
export const TERMINAL_STATES: readonly RunState[] = ["COMPLETED", "FAILED", "CANCELLED"];
export const isTerminal = (state: RunState): boolean => TERMINAL_STATES.includes(state);

/** Every filter of the list, by its name in the API and in the console's address. */
export interface RunFilters {
  readonly project_id?: string;
  readonly state?: RunState[];
  readonly run_type?: (typeof RUN_TYPES)[number];
  readonly user_id?: string;
  readonly tag?: string;
  readonly parent_run_id?: string;
  readonly resumed_from?: string;
  readonly stuck?: boolean;
  readonly created_after?: string;
  readonly created_before?: string;
}

const PAGE_SIZE = 50;
const POLL_MS = 3000;

/**
 * The runs of a filter, newest first, page by page. It is read once and stays: only its reader puts newer runs into it. What runs that are in it
 * do meanwhile is read by useRunsInPlace.
 */
export const runsOptions = (filters: RunFilters) =>
  infiniteQueryOptions({
    queryKey: ["runs", "list", filters],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, client }) => {
      const page = await unwrap(
        api.GET("/v2/runs", {
          params: { query: { ...filters, page_size: PAGE_SIZE, ...(pageParam !== null && { cursor: pageParam }) } },
        }),
      );
      // The first page is what is newest now: it is not asked for a second time.
      if (pageParam === null) client.setQueryData(newestRunsOptions(filters).queryKey, page);
      return page;
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Runs asked for by their ids at once. */
const NAMED = 100;

/** Reads the runs of a list again that have not ended, wherever in it they are, and puts them in their place. */
export function useRunsInPlace(filters: RunFilters, runs: readonly Run[]): void {
  const client = useQueryClient();
  const { queryKey } = runsOptions(filters);
  const open = runs.filter(({ state }) => !isTerminal(state)).map(({ run_id }) => run_id);
  const parts = Array.from({ length: Math.ceil(open.length / NAMED) }, (_, at) =>
    open.slice(at * NAMED, (at + 1) * NAMED),
  );
  useQueries({
    queries: parts.map((run_id) => ({
      queryKey: ["runs", "named", run_id],
      // Whenever one of them ends the others are asked for by another key: nobody comes back to this one.
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

/** The newest of them, asked for again and again while the tab is looked at; first with the list. */
export const newestRunsOptions = (filters: RunFilters) =>
  queryOptions({
    queryKey: ["runs", "newest", filters],
    queryFn: () => unwrap(api.GET("/v2/runs", { params: { query: { ...filters, page_size: PAGE_SIZE } } })),
    refetchInterval: POLL_MS,
    staleTime: POLL_MS,
  });

/** A run with all its nodes, without what they took and gave: that is asked for node by node. */
export const runOptions = (run_id: string) =>
  queryOptions({
    queryKey: ["runs", "detail", run_id],
    // Comparing thousands of nodes member by member costs more than drawing the visible ones.
    structuralSharing: false,
    // The address also answers with events, where those are asked for.
    queryFn: () =>
      unwrap(
        api.GET("/v2/runs/{run_id}", {
          params: { path: { run_id }, query: { expand: "nodes" as const, node_values: false } },
        }),
      ) as Promise<RunWithNodes>,
  });

/** A run with the values of its nodes, as many as one answer has. */
export const comparedRunOptions = (run_id: string) =>
  queryOptions({
    queryKey: ["runs", "compared", run_id],
    structuralSharing: false,
    queryFn: () =>
      unwrap(
        api.GET("/v2/runs/{run_id}", { params: { path: { run_id }, query: { expand: "nodes" as const } } }),
      ) as Promise<RunWithNodes>,
  });

/** A run alone. */
export const readRun = (run_id: string): Promise<Run> =>
  unwrap(api.GET("/v2/runs/{run_id}", { params: { path: { run_id } } })) as Promise<Run>;

/** One node of a run, with its values. */
export const nodeOptions = (run_id: string, path: string) =>
  queryOptions({
    queryKey: ["nodes", "detail", run_id, path],
    queryFn: () => unwrap(api.GET("/v2/runs/{run_id}/node", { params: { path: { run_id }, query: { path } } })),
  });

const FORKS = 10;
/** The runs that go on from a run, the newest first. */
export const forksOptions = (resumed_from: string) =>
  queryOptions({
    queryKey: ["runs", "forks", resumed_from],
    queryFn: () => unwrap(api.GET("/v2/runs", { params: { query: { resumed_from, page_size: FORKS } } })),
  });

/** The flow of a version; it never changes. */
export const flowOptions = (project_id: string, version: number) =>
  queryOptions({
    queryKey: ["flows", "detail", { project_id, version }],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () =>
      unwrap(api.GET("/v2/projects/{project_id}/versions/{version}", { params: { path: { project_id, version } } })),
  });

/** The versions of a flow, the newest first. */
export const flowVersionsOptions = (project_id: string) =>
  queryOptions({
    queryKey: ["flows", "versions", project_id],
    staleTime: 10_000,
    queryFn: () =>
      unwrap(
        api.GET("/v2/projects/{project_id}/versions", {
          params: { path: { project_id }, query: { page_size: 200 } },
        }),
      ),
  });

/** What a version takes and gives. */
export const flowInputsOptions = (project_id: string, version: number) =>
  queryOptions({
    queryKey: ["flows", "io", { project_id, version }],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () =>
      // The address has other formats too.
      unwrap(
        api.GET("/v2/projects/{project_id}/io-schema", { params: { path: { project_id }, query: { version } } }),
      ) as Promise<Schemas["FlowIo"]>,
  });

export const projectsOptions = queryOptions({
  queryKey: ["projects", "list", { page_size: 200 }],
  staleTime: 60_000,
  queryFn: () => unwrap(api.GET("/v2/projects", { params: { query: { page_size: 200 } } })),
});

/** Reads anew what is known of runs, but lists: they stay as they were read, and say themselves that there is more. */
export const refreshRuns = (client: QueryClient): Promise<void> =>
  client.invalidateQueries({ queryKey: ["runs"], predicate: ({ queryKey }) => queryKey[1] !== "list" });

/** Actions on a run; afterwards it and the lists are read anew. */
export function useRunAction<T, R>(act: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSettled: () => Promise.all([refreshRuns(client), client.invalidateQueries({ queryKey: ["pauses"] })]),
  });
}

export const cancelRun = ({ run_id, ...body }: Schemas["RunCancel"] & { readonly run_id: string }) =>
  unwrap(api.POST("/v2/runs/{run_id}/cancel", { params: { path: { run_id } }, body }));

export type RunInputs = NonNullable<Schemas["RunCreate"]["inputs"]>;

export interface Intent {
  readonly run_id: string;
  /** See newIntent. */
  readonly intent: string;
}
export const resumeRun = ({ run_id, intent, ...body }: Schemas["RunResume"] & Intent) =>
  unwrap(
    api.POST("/v2/runs/{run_id}/resume", {
      params: { path: { run_id }, header: { "Idempotency-Key": intent } },
      // The generator makes "any JSON beside these members" of a body that has none.
      body: body as never,
    }),
  );

/** Starts a run with the same inputs: of the version it had, or of the one that is published now. */
export const replayRun = ({ intent, ...body }: Schemas["RunCreate"] & { readonly intent: string }) =>
  unwrap(api.POST("/v2/runs", { params: { header: { "Idempotency-Key": intent } }, body }));
