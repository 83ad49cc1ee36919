import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, ifMatch, unwrap, unwrapTagged, type Schemas, type Tagged } from "./client.ts";
import { everyPage, type Direction } from "./every-page.ts";

const EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
const SHOWN_FAILURES = 5;

export const hoursAgo = (hours: number): string => new Date(Date.now() - hours * HOUR_MS).toISOString();

export const statisticsOptions = (hours: number) =>
  queryOptions({
    queryKey: ["run-statistics", "detail", hours],
    queryFn: () => unwrap(api.GET("/v2/run-statistics", { params: { query: { hours } } })),
    refetchInterval: EVERY_MS,
  });

const STUCK = { stuck: true, page_size: 20, order: "asc" } as const;
/** Stuck runs, oldest first. */
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

export const CONNECTION_STATES = ["error", "unverified", "active", "disabled"] as const;
export type ConnectionState = (typeof CONNECTION_STATES)[number];
/** Connections, page by page. */
export const connectionPagesOptions = (status: ConnectionState | undefined, order: Direction) =>
  infiniteQueryOptions({
    queryKey: ["connections", "pages", { status, order }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = {
        page_size: 100,
        order,
        ...(status && { status }),
        ...(pageParam !== null && { cursor: pageParam }),
      };
      return unwrap(api.GET("/v2/connections", { params: { query } }));
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
  });

/** Checks at the provider whether the credential of a connection is accepted, then refetches the connections. */
export function useConnectionCheck() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (connection_id: string) =>
      unwrap(api.POST("/v2/connections/{connection_id}/check", { params: { path: { connection_id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["connections"] }),
  });
}

export const connectionsOptions = queryOptions({
  queryKey: ["connections", "list"],
  queryFn: () => everyPage((query) => unwrap(api.GET("/v2/connections", { params: { query } }))),
});

/** Model usage of the last hours: of all models, or of one. */
export const usageOptions = ({ hours, ...query }: UsageQuery) =>
  queryOptions({
    queryKey: ["usage", "detail", query, hours],
    queryFn: () => unwrap(api.GET("/v2/usage", { params: { query: { ...query, from: hoursAgo(hours) } } })),
    refetchInterval: 60_000,
  });
interface UsageQuery {
  readonly group_by: Schemas["UsageReport"]["group_by"];
  readonly hours: number;
  readonly model?: string;
}

/** The most recent failures among runs created in the last hours. */
export const failuresOptions = (hours: number) =>
  queryOptions({
    queryKey: ["runs", "failures", hours],
    queryFn: () => {
      const query = { state: ["FAILED" as const], created_after: hoursAgo(hours), page_size: SHOWN_FAILURES };
      return unwrap(api.GET("/v2/runs", { params: { query } }));
    },
    refetchInterval: EVERY_MS,
  });

/** State of the installation's task queues; for admins only. */
export const queuesOptions = queryOptions({
  queryKey: ["queues", "list"],
  queryFn: () => unwrap(api.GET("/v2/queues")),
  refetchInterval: EVERY_MS,
});

export const settingsOptions = queryOptions({
  queryKey: ["settings", "detail"],
  queryFn: () => unwrapTagged(api.GET("/v2/settings")),
});
export const limitsOptions = queryOptions({
  queryKey: ["limits", "detail"],
  queryFn: () => unwrap(api.GET("/v2/limits")),
});

/** Changes the settings that `etag` belongs to. */
export function useSettingsChange() {
  const client = useQueryClient();
  const { queryKey } = settingsOptions;
  return useMutation({
    mutationFn: ({ etag, ...body }: Tagged<Schemas["SettingsChange"]>) =>
      unwrapTagged(api.PATCH("/v2/settings", { params: ifMatch(etag), body })),
    onSuccess: (settings) => client.setQueryData(queryKey, settings),
    onError: () => client.invalidateQueries({ queryKey }),
  });
}
