import { z } from "zod";
import { isWebAddress, MAX_URL_CHARS } from "../../web-address.ts";
import { defineNode, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  required: z
    .boolean()
    .default(true)
    .describe("Whether a run without this input is rejected; has no effect if the input has a default"),
  default: z
    .string()
    .refine(isWebAddress, "The URL must start with http:// or https://")
    .exactOptional()
    .describe("URL to use if the run sends none"),
  description: z.string().max(2000).exactOptional().describe("What to enter, for people and models that fill it in"),
});

export const urlSpec = defineNode({
  title: "Web page",
  group: "inputs",
  icon: "link",
  description: "A URL given to the run: the page or file is loaded and its text extracted",
  example: { required: true, description: "The page to read" },
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
