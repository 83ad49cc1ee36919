import { infiniteQueryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { readablePage, type ReadablePage } from "./json-pages.ts";
import type { NodeDetail } from "./runs.ts";

export type NodeValue = Schemas["NodeRunDetail"]["long_values"][number];

/** Size of the part of a JSON value that is read and drawn at one time. */
const PAGE_BYTES = 64 * 1024;

export const pagesOf = (size: number): number => Math.max(1, Math.ceil(size / PAGE_BYTES));

export interface ValuePage extends ReadablePage {
  /** Size of the complete value (bytes). */
  readonly size: number;
  readonly next: number | null;
}

/** A long value of a node, page by page. The recorded value of an attempt never changes. */
export const nodeValueOptions = (run_id: string, { path, attempts }: NodeDetail, member: NodeValue) =>
  infiniteQueryOptions({
    queryKey: ["nodes", "value", run_id, path, member, attempts],
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
    initialPageParam: { offset: 0, place: null as ReadablePage["place"] | null },
    queryFn: async ({ pageParam: { offset, place } }): Promise<ValuePage> => {
      const { text, size, next_offset } = await unwrap(
        api.GET("/v2/runs/{run_id}/node/value", {
          params: { path: { run_id }, query: { path, member, offset, limit: PAGE_BYTES } },
        }),
      );
      return { ...readablePage(text, place, next_offset === null), size, next: next_offset };
    },
    getNextPageParam: ({ next, place }) => (next === null ? undefined : { offset: next, place }),
  });
