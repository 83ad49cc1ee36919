import { infiniteQueryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";

export type AuditEntry = Schemas["AuditEntry"];

export const auditOptions = (order: "asc" | "desc") =>
  infiniteQueryOptions({
    queryKey: ["audit-log", "list", order],
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/v2/audit-log", {
          params: { query: { order, page_size: 50, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more, cursor }) => (has_more ? cursor : undefined),
  });
