import { z } from "zod";
import { textUpTo, wholeNumber } from "../../schema-parts.ts";
import type { NodeReference } from "./spec.ts";

/** How a node chooses its model. Omitted parts come from the organisation, then from the installation. */
export const modelConfig = {
  model: textUpTo(256).exactOptional().describe("Model name that the endpoint knows"),
  connection_id: z
    .uuid()
    .toLowerCase()
    .exactOptional()
    .describe("A connection of provider openai_compatible or anthropic"),
};

/** The longest answer of a node's model, in tokens. */
export const maxTokens = wholeNumber(1, 1_000_000)
  .exactOptional()
  .describe("Maximum tokens of the answer; sent as `max_completion_tokens` to models that need it");

export function connectionReference(id: string | undefined): NodeReference[] {
  return id === undefined ? [] : [{ kind: "connection", id, path: ["connection_id"] }];
}
