import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import type { Intent } from "./intent.ts";
import { refreshRuns, type RunFilters } from "./runs.ts";

export type RunJob = Schemas["RunJob"];
export type RunJobAction = RunJob["action"];

const POLL_MS = 1000;

/** Number of runs that a bulk action would currently affect. */
export const runJobCountOptions = (action: RunJobAction, filter: RunFilters) =>
  queryOptions({
    queryKey: ["run-jobs", "count", action, filter],
    staleTime: 0,
    gcTime: 0,
    queryFn: async () => {
      const answer = await unwrap(api.POST("/v2/run-jobs", { body: { action, filter, dry_run: true } }));
      return answer.counts.matched;
    },
  });

/** A bulk run job, polled until it has finished. */
export const runJobOptions = (job_id: string) =>
  queryOptions({
    queryKey: ["run-jobs", "detail", job_id],
    queryFn: () => unwrap(api.GET("/v2/run-jobs/{job_id}", { params: { path: { job_id } } })),
    refetchInterval: ({ state }) => (state.data?.finished_at === null ? POLL_MS : false),
  });

/** Acts on a job, then refetches the job and the runs. */
export function useRunJob<T, R>(act: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: ["run-jobs", "detail"] }), refreshRuns(client)]),
  });
}

export const createRunJob = async ({
  intent,
  ...body
}: Pick<Schemas["RunJobCreate"], "action" | "version"> & {
  readonly filter: RunFilters;
  readonly intent: Intent;
}): Promise<RunJob> =>
  // Without `dry_run` the API returns the job.
  (await unwrap(
    api.POST("/v2/run-jobs", {
      params: { header: { "Idempotency-Key": intent(body) } },
      body: { ...body, dry_run: false },
    }),
  )) as RunJob;

export const abortRunJob = (job_id: string) =>
  unwrap(api.POST("/v2/run-jobs/{job_id}/abort", { params: { path: { job_id } } }));
