import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import type { Schemas } from "./client.ts";
import { TERMINAL_STATES } from "./runs.ts";

export type Retention = Schemas["Retention"];

const DAY_MS = 86_400_000;
/** More are not counted one by one. */
const COUNTED = 100;

/** How long runs are kept: in a project, or without one in the organisation. */
export const retentionOptions = (project_id: string | null) =>
  queryOptions({
    queryKey: ["retention", "detail", project_id],
    queryFn: () =>
      project_id === null
        ? unwrap(api.GET("/v2/retention"))
        : unwrap(api.GET("/v2/projects/{project_id}/retention", { params: { path: { project_id } } })),
  });

export function useRetentionChange(project_id: string | null) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (run_days: number | null) => {
      const body = { run_days };
      return project_id === null
        ? unwrap(api.PATCH("/v2/retention", { body }))
        : unwrap(api.PATCH("/v2/projects/{project_id}/retention", { params: { path: { project_id } }, body }));
    },
    // The organisation's days hold for its projects too.
    onSuccess: () => client.invalidateQueries({ queryKey: ["retention"] }),
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
      const { data, has_more } = await unwrap(api.GET("/v2/runs", { params: { query } }));
      // A run that took long may have been created before and have ended since.
      const ended = data.filter(
        ({ finished_at }) => finished_at !== null && Date.parse(finished_at) < Date.parse(before),
      );
      return { runs: ended.length, isMore: has_more, before };
    },
  });
