import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import type { Schemas } from "./client.ts";

const EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;

export const statisticsOptions = (hours: number) =>
  queryOptions({
    queryKey: ["run-statistics", "detail", hours],
    queryFn: () => unwrap(api.GET("/v2/run-statistics", { params: { query: { hours } } })),
    refetchInterval: EVERY_MS,
  });

const STUCK = { stuck: true, page_size: 20, order: "asc" } as const;
/** The runs that make no progress, the oldest first. */
export const stuckOptions = queryOptions({
  queryKey: ["runs", "stuck", STUCK],
  queryFn: () => unwrap(api.GET("/v2/runs", { params: { query: STUCK } })),
  refetchInterval: EVERY_MS,
});

export const brokenConnectionsOptions = queryOptions({
  queryKey: ["connections", "list", { status: "error" }],
  queryFn: () => unwrap(api.GET("/v2/connections", { params: { query: { status: "error", page_size: 20 } } })),
  refetchInterval: EVERY_MS,
});

export const connectionsOptions = queryOptions({
  queryKey: ["connections", "list", { page_size: 200 }],
  queryFn: () => unwrap(api.GET("/v2/connections", { params: { query: { page_size: 200 } } })),
});

/** What each model has cost in the last hours. */
export const modelCostOptions = (hours: number) =>
  queryOptions({
    queryKey: ["usage", "detail", "model", hours],
    queryFn: () => {
      const from = new Date(Date.now() - hours * HOUR_MS).toISOString();
      return unwrap(api.GET("/v2/usage", { params: { query: { group_by: "model", from } } }));
    },
    refetchInterval: 60_000,
  });

/** How the task queues of the installation stand. For admins. */
export const queuesOptions = queryOptions({
  queryKey: ["queues", "list"],
  queryFn: () => unwrap(api.GET("/v2/queues")),
  refetchInterval: EVERY_MS,
});

export const settingsOptions = queryOptions({
  queryKey: ["settings", "detail"],
  queryFn: () => unwrap(api.GET("/v2/settings")),
});
export const limitsOptions = queryOptions({
  queryKey: ["limits", "detail"],
  queryFn: () => unwrap(api.GET("/v2/limits")),
});

export function useSettingsChange() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["SettingsChange"]) => unwrap(api.PATCH("/v2/settings", { body })),
    onSuccess: (settings) => client.setQueryData(settingsOptions.queryKey, settings),
  });
}
