import { z } from "zod";
import { isWebAddress, MAX_URL_CHARS } from "../../web-address.ts";
import { defineNode, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  required: z.boolean().default(true).describe("Whether a run without it is refused; never so where it has a default"),
  default: z
    .string()
    .refine(isWebAddress, "An address starts with http:// or https://")
    .exactOptional()
    .describe("The address where a run gives none"),
  description: z.string().max(2000).exactOptional().describe("What to give, for people and models that fill it in"),
});

export const urlSpec = defineNode({
  description: "A web address that the run is given: the page or file is loaded and its text extracted",
  config,
  input: true,
  execution: () => "activity",
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 60_000,
  io: {
    output: () => ({
      type: "object",
      properties: {
        url: { type: ["string", "null"] },
        title: { type: ["string", "null"] },
        text: { type: "string" },
        content_type: { type: ["string", "null"] },
      },
      required: ["url", "title", "text", "content_type"],
    }),
    input: (config) => ({
      schema: {
        type: "string",
        format: "uri",
        pattern: "^[hH][tT][tT][pP][sS]?://",
        maxLength: MAX_URL_CHARS,
        ...(config.description === undefined ? {} : { description: config.description }),
        ...(config.default === undefined ? {} : { default: config.default }),
      },
      required: config.required && config.default === undefined,
    }),
  },
});
