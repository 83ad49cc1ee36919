import { queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";

/** Inputs, outputs and examples of a version, -1 for the published one, of an environment's version, or of the draft. */
export const readIo = (
  project_id: string,
  query: { readonly draft: true } | { readonly version: number } | { readonly environment: string },
): Promise<Schemas["FlowIo"]> =>
  // The same path has other formats too.
  unwrap(api.GET("/v2/projects/{project_id}/io-schema", { params: { path: { project_id }, query } })) as Promise<
    Schemas["FlowIo"]
  >;

/** Inputs and outputs of what a chat talks to. */
export const chatIoOptions = (
  project_id: string,
  target: { readonly draft: true } | { readonly environment?: string },
) =>
  queryOptions({
    queryKey: ["versions", "chat-io", project_id, target],
    queryFn: () => {
      if ("draft" in target) return readIo(project_id, target);
      const { environment } = target;
      return readIo(project_id, environment === undefined ? { version: -1 } : { environment });
    },
  });
