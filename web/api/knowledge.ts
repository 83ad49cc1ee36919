import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";
import { keyOfOrder, type Direction } from "./every-page.ts";

export type Resource = Schemas["KnowledgeBaseResource"];
export type Sync = Schemas["KnowledgeBaseSync"];
type Counts = Pick<Schemas["KnowledgeBase"], "total_files" | "total_indexed_files" | "total_error_files">;

const EVERY_MS = 5000;
const BASE = "/v2/knowledge-bases/{knowledge_base_id}" as const;

/** Filters of the list of documents, each with the states of the API that it includes. */
const STATUSES = {
  waiting: ["pending", "resource", "parsed", "pending_delete"],
  failed: ["error"],
  indexed: ["indexed"],
} satisfies Record<string, ReadonlyArray<Resource["status"]>>;
export type Which = keyof typeof STATUSES;
export const WHICH = ["waiting", "failed", "indexed"] as const satisfies readonly Which[];

/** Number of documents in a knowledge base that wait to be indexed. */
export const waitingOf = ({ total_files, total_indexed_files, total_error_files }: Counts): number =>
  total_files - total_indexed_files - total_error_files;

export const knowledgeBaseOptions = (knowledge_base_id: string) =>
  queryOptions({
    queryKey: ["knowledge-bases", "detail", knowledge_base_id],
    queryFn: () => unwrap(api.GET(BASE, { params: { path: { knowledge_base_id } } })),
    refetchInterval: EVERY_MS,
  });

/** Documents of a knowledge base, newest first, page by page. */
export const documentsOptions = (knowledge_base_id: string, which: Which | undefined) =>
  infiniteQueryOptions({
    queryKey: ["knowledge-bases", "documents", { knowledge_base_id, which }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const status = which === undefined ? {} : { status: [...STATUSES[which]] };
      const query = { ...status, ...(pageParam !== null && { cursor: pageParam }) };
      return unwrap(api.GET(`${BASE}/resources`, { params: { path: { knowledge_base_id }, query } }));
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    select: ({ pages }) => ({ data: pages.flatMap((page) => page.data), pages: pages.length }),
    refetchInterval: EVERY_MS,
  });

export const documentOptions = (knowledge_base_id: string, resource_id: string) =>
  queryOptions({
    queryKey: ["knowledge-bases", "document", { knowledge_base_id, resource_id }],
    queryFn: () =>
      unwrap(api.GET(`${BASE}/resources/{resource_id}`, { params: { path: { knowledge_base_id, resource_id } } })),
    refetchInterval: EVERY_MS,
  });

/** A document with its extracted text. */
export const documentTextOptions = (knowledge_base_id: string, resource_id: string) =>
  queryOptions({
    queryKey: ["knowledge-bases", "document-text", { knowledge_base_id, resource_id }],
    queryFn: () =>
      unwrap(
        api.GET(`${BASE}/resources/{resource_id}`, {
          params: { path: { knowledge_base_id, resource_id }, query: { expand: "text" as const } },
        }),
      ),
  });

/** URL at which the browser displays a document if it supports the type. */
export const documentHref = (knowledgeBaseId: string, resourceId: string): string =>
  `/v2/knowledge-bases/${encodeURIComponent(knowledgeBaseId)}/resources/${encodeURIComponent(resourceId)}/download?disposition=inline`;

/** The newest syncs of a knowledge base. */
export const syncsOptions = (knowledge_base_id: string, order: Direction) =>
  queryOptions({
    queryKey: ["knowledge-bases", "syncs", knowledge_base_id, ...keyOfOrder(order)],
    queryFn: () =>
      unwrap(api.GET(`${BASE}/syncs`, { params: { path: { knowledge_base_id }, query: { page_size: 10, order } } })),
    refetchInterval: EVERY_MS,
  });

/** Documents that a sync failed to read, page by page. */
export const failedItemsOptions = (knowledge_base_id: string, sync_id: string) =>
  infiniteQueryOptions({
    queryKey: ["knowledge-bases", "failed-items", { knowledge_base_id, sync_id }],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => {
      const query = { outcome: "failed" as const, ...(pageParam !== null && { cursor: pageParam }) };
      return unwrap(
        api.GET(`${BASE}/syncs/{sync_id}/items`, { params: { path: { knowledge_base_id, sync_id }, query } }),
      );
    },
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    placeholderData: keepPreviousData,
  });

/** Changes a knowledge base, then refetches it: a refusal may come from a change by someone else. */
export function useKnowledgeAction<T, R>(act: (value: T) => Promise<R>) {
  const client = useQueryClient();
  return useMutation({ mutationFn: act, onSettled: () => client.invalidateQueries({ queryKey: ["knowledge-bases"] }) });
}

/**
 * Reads the sources again and retries documents that are not indexed. It deletes nothing, because only people who know
 * the sources can decide that.
 */
export const syncNow = (knowledge_base_id: string) =>
  unwrap(
    api.POST(`${BASE}/sync`, {
      params: { path: { knowledge_base_id } },
      body: { mode: "incremental", delete_missing: false },
    }),
  );
export const cancelSync = (path: { readonly knowledge_base_id: string; readonly sync_id: string }) =>
  unwrap(api.POST(`${BASE}/syncs/{sync_id}/cancel`, { params: { path } }));
