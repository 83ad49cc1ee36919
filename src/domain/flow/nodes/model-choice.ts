import { z } from "zod";
import type { NodeReference } from "./spec.ts";

/** How a node chooses its model. Missing parts come from the organisation, then from the installation. */
export const modelConfig = {
  model: z.string().min(1).max(256).exactOptional().describe("The name the endpoint knows"),
  connection_id: z
    .uuid()
    .toLowerCase()
    .exactOptional()
    .describe("A connection of provider openai_compatible or anthropic"),
};

/** The reference to the connection that a node names. */
export function connectionReference(id: string | undefined): NodeReference[] {
  return id === undefined ? [] : [{ kind: "connection", id, path: ["connection_id"] }];
}
