import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import type { Schemas } from "./client.ts";

export type Experiment = Schemas["Experiment"];
export type ExperimentStatus = Schemas["ExperimentStatus"];
export type ExperimentRow = Schemas["ExperimentRow"];

const EVERY_MS = 5000;
const EXPERIMENT = "/v2/evals/experiments/{experiment_id}" as const;
/** How rows can have ended, or not; as the list of them is filtered. */
export const ROW_STATES = ["FAILED", "COMPLETED", "CANCELLED", "RUNNING", "PENDING"] as const satisfies ReadonlyArray<
  ExperimentRow["state"]
>;

/** A job may score or run rows of one that has ended again: it is asked for as long as it is looked at. */
export const experimentOptions = (experiment_id: string) =>
  queryOptions({
    queryKey: ["experiments", "detail", experiment_id],
    queryFn: () => unwrap(api.GET(EXPERIMENT, { params: { path: { experiment_id } } })),
    refetchInterval: EVERY_MS,
  });

/** How far it is, and what its scores say. */
export const experimentStatusOptions = (experiment_id: string) =>
  queryOptions({
    queryKey: ["experiments", "status", experiment_id],
    queryFn: () => unwrap(api.GET(`${EXPERIMENT}/status`, { params: { path: { experiment_id } } })),
    refetchInterval: EVERY_MS,
  });

/** How it differs from another one, score by score. */
export const comparisonOptions = (experiment_id: string, other: string, isUnderWay: boolean) =>
  queryOptions({
    queryKey: ["experiments", "comparison", { experiment_id, other }],
    refetchInterval: isUnderWay && EVERY_MS,
    queryFn: () =>
      unwrap(api.POST(`${EXPERIMENT}/compare`, { params: { path: { experiment_id } }, body: { with: other } })),
  });

/** Its rows in the order of the dataset, page by page. */
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
