import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged } from "./client.ts";
import type { Schemas, Tagged } from "./client.ts";
import { TERMINAL_STATES } from "./runs.ts";

export type Retention = Tagged<Schemas["Retention"]>;

const DAY_MS = 86_400_000;
/** More are not counted one by one. */
const COUNTED = 100;
/** Pages that are read to count so many: the oldest runs may all have waited long for somebody, and have ended since. */
const MOST_PAGES = 10;

/** How long runs are kept: in a project, or without one in the organisation. */
export const retentionOptions = (project_id: string | null) =>
  queryOptions({
    queryKey: ["retention", "detail", project_id],
    queryFn: () =>
      project_id === null
        ? unwrapTagged(api.GET("/v2/retention"))
        : unwrapTagged(api.GET("/v2/projects/{project_id}/retention", { params: { path: { project_id } } })),
  });

/** Sets the days of the policy that `etag` is of. */
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
    // The organisation's days hold for its projects too. A refusal may be of what has changed meanwhile.
    onSettled: () => client.invalidateQueries({ queryKey: ["retention"] }),
  });
}

/** The runs that ended more than `days` ago: how many, whether there may be more, and before which time. */
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
