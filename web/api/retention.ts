import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged, type Schemas, type Tagged } from "./client.ts";
import { TERMINAL_STATES } from "./runs.ts";

export type Retention = Tagged<Schemas["Retention"]>;

const DAY_MS = 86_400_000;
/** Counting stops once this many runs are found. */
const COUNTED = 100;
/** Pages read to count them: a page may hold few matches, because the oldest runs may have waited long and finished recently. */
const MOST_PAGES = 10;

/** Retention policy of a project, or of the organisation if `project_id` is null. */
export const retentionOptions = (project_id: string | null) =>
  queryOptions({
    queryKey: ["retention", "detail", project_id],
    queryFn: () =>
      project_id === null
        ? unwrapTagged(api.GET("/v2/retention"))
        : unwrapTagged(api.GET("/v2/projects/{project_id}/retention", { params: { path: { project_id } } })),
  });

/** Sets the days of the policy that `etag` belongs to. */
export function useRetentionChange(project_id: string | null) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ etag, run_days }: Tagged<{ run_days: number | null }>) => {
      const body = { run_days };
      const params = ifMatch(etag);
      return project_id === null
        ? unwrap(api.PATCH("/v2/retention", { params, body }))
        : unwrap(
            api.PATCH("/v2/projects/{project_id}/retention", { params: { ...params, path: { project_id } }, body }),
          );
    },
    // Projects inherit the organisation's days, so all policies are refetched, also after a refusal.
    onSettled: () => client.invalidateQueries({ queryKey: ["retention"] }),
  });
}

/** Runs that finished more than `days` ago: their number, whether there may be more, and the cut-off time. */
export const endedBeforeOptions = (project_id: string | null, days: number) =>
  queryOptions({
    queryKey: ["runs", "ended-before", { project_id, days }],
    staleTime: 0,
    gcTime: 0,
    queryFn: async () => {
      const before = new Date(Date.now() - days * DAY_MS).toISOString();
      const filter = {
        state: [...TERMINAL_STATES],
        created_before: before,
        ...(project_id !== null && { project_id }),
      };
      const query = { ...filter, order: "asc" as const, page_size: COUNTED };
      let runs = 0;
      let cursor: string | null = null;
      for (let pages = 0; pages < MOST_PAGES && runs < COUNTED; pages++) {
        const more: { cursor?: string } = cursor === null ? {} : { cursor };
        const page = await unwrap(api.GET("/v2/runs", { params: { query: { ...query, ...more } } }));
        const ended = page.data.filter(({ finished_at }) => finished_at !== null && finished_at < before);
        runs += ended.length;
        cursor = page.cursor;
        if (cursor === null) break;
      }
      return { runs, isMore: cursor !== null, before };
    },
  });
