import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";

export type Experiment = Schemas["Experiment"];
export type ExperimentStatus = Schemas["ExperimentStatus"];
export type ExperimentRow = Schemas["ExperimentRow"];

const EVERY_MS = 5000;
const EXPERIMENT = "/v2/evals/experiments/{experiment_id}" as const;
/** Row states, in the order in which the filter of the rows lists them. */
export const ROW_STATES = ["FAILED", "COMPLETED", "CANCELLED", "RUNNING", "PENDING"] as const satisfies ReadonlyArray<
  ExperimentRow["state"]
>;

/** A finished experiment can be scored or run again, so it is polled as long as it is shown. */
export const experimentOptions = (experiment_id: string) =>
  queryOptions({
    queryKey: ["experiments", "detail", experiment_id],
    queryFn: () => unwrap(api.GET(EXPERIMENT, { params: { path: { experiment_id } } })),
    refetchInterval: EVERY_MS,
  });

/** Progress of an experiment, and its aggregated scores. */
export const experimentStatusOptions = (experiment_id: string) =>
  queryOptions({
    queryKey: ["experiments", "status", experiment_id],
    queryFn: () => unwrap(api.GET(`${EXPERIMENT}/status`, { params: { path: { experiment_id } } })),
    refetchInterval: EVERY_MS,
  });

/** Differences from another experiment, score by score. */
export const comparisonOptions = (experiment_id: string, other: string, isUnderWay: boolean) =>
  queryOptions({
    queryKey: ["experiments", "comparison", { experiment_id, other }],
    refetchInterval: isUnderWay && EVERY_MS,
    queryFn: () =>
      unwrap(api.POST(`${EXPERIMENT}/compare`, { params: { path: { experiment_id } }, body: { with: other } })),
  });

/** Rows of an experiment in the order of its dataset, page by page. */
export const experimentRowsOptions = (experiment_id: string, state: ExperimentRow["state"] | undefined) =>
  infiniteQueryOptions({
    queryKey: ["experiments", "rows", { experiment_id, state }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = {
        order: "asc" as const,
        ...(state && { state }),
        ...(pageParam !== null && { cursor: pageParam }),
      };
      return unwrap(api.GET(`${EXPERIMENT}/rows`, { params: { path: { experiment_id }, query } }));
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    refetchInterval: EVERY_MS,
  });

/** Starts the rows of an experiment that has none yet, then refetches it. */
export function useExperimentStart() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (experiment_id: string) =>
      unwrap(api.POST(`${EXPERIMENT}/jobs`, { params: { path: { experiment_id } }, body: { kind: "run" } })),
    onSettled: () => client.invalidateQueries({ queryKey: ["experiments"] }),
  });
}
