import {
  infiniteQueryOptions,
  queryOptions,
  useMutation,
  useQueryClient,
  type QueryClient,
} from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { everyPage } from "./every-page.ts";
import { readIo } from "./flow-io.ts";
import type { Intent } from "./intent.ts";

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
export const RUN_TYPES = ["api", "batch", "trigger", "scheduled", "sub_workflow", "draft"] as const;
export const RUN_TYPE_NAMES: Readonly<Record<Run["run_type"], string>> = {
  api: "API",
  batch: "Batch",
  trigger: "Trigger",
  scheduled: "Schedule",
  sub_workflow: "Child run",
  draft: "Draft",
};
/** Text for a run with a stuck workflow; the filter `stuck` finds stuck runs instead, which make no progress. */
const STUCK_WORKFLOW = "Stuck workflow: Temporal could not advance it. See the worker logs.";

/** Why a run is in its state, in words. The reason of a cancelled run is the text of the person who cancelled it. */
export const reasonOf = ({ state, state_reason }: Pick<Run, "state" | "state_reason">): string | null =>
  state_reason === "stuck" && state !== "CANCELLED" ? STUCK_WORKFLOW : state_reason;

export const TERMINAL_STATES: readonly RunState[] = ["COMPLETED", "FAILED", "CANCELLED"];
export const isTerminal = (state: RunState): boolean => TERMINAL_STATES.includes(state);

/** Every filter of the list, under its name in the API and in the console's URL. */
export interface RunFilters {
  readonly run_id?: string[];
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
/** How often unfinished runs are read again (ms). */
export const POLL_MS = 3000;

/** The direction of a list by time of creation; `desc` is newest first. */
export type Order = "asc" | "desc";

/**
 * Runs that match a filter, page by page. The list is read once and not refetched: newer runs enter it
 * only when the user asks. `useRunsInPlace` updates the states of listed runs.
 */
export const runsOptions = (filters: RunFilters, order: Order) =>
  infiniteQueryOptions({
    queryKey: ["runs", "list", filters, order],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, client }) => {
      const page = await unwrap(
        api.GET("/v2/runs", {
          params: {
            query: {
              ...filters,
              ...(order === "asc" && { order }),
              page_size: PAGE_SIZE,
              ...(pageParam !== null && { cursor: pageParam }),
            },
          },
        }),
      );
      // The first page also fills the query for the newest runs, which saves a request.
      if (pageParam === null && order === "desc") client.setQueryData(newestRunsOptions(filters).queryKey, page);
      return page;
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The newest runs that match a filter, polled while the tab is visible; first filled by the list itself. */
export const newestRunsOptions = (filters: RunFilters) =>
  queryOptions({
    queryKey: ["runs", "newest", filters],
    queryFn: () => unwrap(api.GET("/v2/runs", { params: { query: { ...filters, page_size: PAGE_SIZE } } })),
    refetchInterval: POLL_MS,
    staleTime: POLL_MS,
  });

/** A run with all nodes but without their inputs and outputs, which are read per node. */
export const runOptions = (run_id: string) =>
  queryOptions({
    queryKey: ["runs", "detail", run_id],
    // Comparing thousands of nodes field by field costs more than drawing the visible ones.
    structuralSharing: false,
    // The same path streams events if `Accept` asks for them.
    queryFn: () =>
      unwrap(
        api.GET("/v2/runs/{run_id}", {
          params: { path: { run_id }, query: { expand: "nodes" as const, node_values: false } },
        }),
      ) as Promise<RunWithNodes>,
  });

/** A run with the inputs and outputs of as many nodes as one response holds. */
export const comparedRunOptions = (run_id: string) =>
  queryOptions({
    queryKey: ["runs", "compared", run_id],
    structuralSharing: false,
    queryFn: () =>
      unwrap(
        api.GET("/v2/runs/{run_id}", { params: { path: { run_id }, query: { expand: "nodes" as const } } }),
      ) as Promise<RunWithNodes>,
  });

/** A run without its nodes. */
export const readRun = (run_id: string): Promise<Run> =>
  unwrap(api.GET("/v2/runs/{run_id}", { params: { path: { run_id } } })) as Promise<Run>;

/** One node of a run with its inputs and output. */
export const nodeOptions = (run_id: string, path: string) =>
  queryOptions({
    queryKey: ["nodes", "detail", run_id, path],
    queryFn: () => unwrap(api.GET("/v2/runs/{run_id}/node", { params: { path: { run_id }, query: { path } } })),
  });

const FORKS = 10;
/** Runs that resume or rerun a run, newest first. */
export const forksOptions = (resumed_from: string) =>
  queryOptions({
    queryKey: ["runs", "forks", resumed_from],
    queryFn: () => unwrap(api.GET("/v2/runs", { params: { query: { resumed_from, page_size: FORKS } } })),
  });

/** The flow definition of a version; it never changes. */
export const flowOptions = (project_id: string, version: number) =>
  queryOptions({
    queryKey: ["flows", "detail", { project_id, version }],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () =>
      unwrap(api.GET("/v2/projects/{project_id}/versions/{version}", { params: { path: { project_id, version } } })),
  });

/** Inputs and outputs of a flow version, or of the version of an environment. */
export const flowInputsOptions = (project_id: string, version: number, environment?: string) =>
  queryOptions({
    queryKey: ["flows", "io", { project_id, version, environment }],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => readIo(project_id, environment === undefined ? { version } : { environment }),
  });

export const projectsOptions = queryOptions({
  queryKey: ["projects", "list"],
  staleTime: 60_000,
  queryFn: () => everyPage((query) => unwrap(api.GET("/v2/projects", { params: { query } }))),
});

/** Refetches run queries except lists, which announce newer runs themselves. */
export const refreshRuns = (client: QueryClient): Promise<void> =>
  client.invalidateQueries({ queryKey: ["runs"], predicate: ({ queryKey }) => queryKey[1] !== "list" });

/** Acts on a run, then refetches the run and the lists. */
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

export const resumeRun = ({
  run_id,
  intent,
  ...body
}: Schemas["RunResume"] & { readonly run_id: string; readonly intent: Intent }) =>
  unwrap(
    api.POST("/v2/runs/{run_id}/resume", {
      params: { path: { run_id }, header: { "Idempotency-Key": intent(body) } },
      // The generated type of this body also requires any further fields, although its schema allows none.
      body: body as never,
    }),
  );

/** Starts a run with the given inputs. */
export const replayRun = ({ intent, ...body }: Schemas["RunCreate"] & { readonly intent: Intent }) =>
  unwrap(api.POST("/v2/runs", { params: { header: { "Idempotency-Key": intent(body) } }, body }));
