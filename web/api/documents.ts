import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import { everyPage } from "./every-page.ts";

/** The node and user ID that documents were uploaded for. */
export interface FilesOf {
  readonly org: string;
  readonly flow: string;
  readonly node: string;
  readonly user_id: string;
}

/** The documents that were uploaded to a node for a user ID; polled until all of them are read. */
export const filesOptions = (of: FilesOf) =>
  queryOptions({
    queryKey: ["documents", "list", of],
    queryFn: () =>
      everyPage((query) =>
        unwrap(api.GET("/documents/{org}/{flow}/{node}/{user_id}", { params: { path: of, query } })),
      ),
    refetchInterval: ({ state }) => (state.data?.data.some(({ status }) => status === "pending") ? 2000 : false),
  });

/** Uploads a document to a node of the published version, or of the saved draft. */
export function uploadFile({ org, flow, node, user_id }: FilesOf, file: File, run_draft: boolean) {
  const form = new FormData();
  form.set("file", file);
  const query = { org, flow_id: flow, node_id: node, user_id, run_draft };
  return unwrap(
    api.POST("/upload_to_storage_user", { params: { query }, body: form as never, bodySerializer: (body) => body }),
  );
}

export const deleteFile = (of: FilesOf, filename: string) =>
  unwrap(api.DELETE("/documents/{org}/{flow}/{node}/{user_id}", { params: { path: of, query: { filename } } }));
