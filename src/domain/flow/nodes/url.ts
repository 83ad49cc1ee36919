import { z } from "zod";
import { isWebAddress, MAX_URL_CHARS } from "../../web-address.ts";
import { objectSchema } from "../../json-schema.ts";
import { inputFields, shownFields } from "./input.ts";
import { defineNode, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  required: inputFields.required,
  default: z
    .string()
    .refine(isWebAddress, "The URL must start with http:// or https://")
    .exactOptional()
    .describe("URL to use if the run sends none"),
  description: inputFields.description,
});

const OR_NULL = { type: ["string", "null"] };

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
    output: () => objectSchema({ url: OR_NULL, title: OR_NULL, text: { type: "string" }, content_type: OR_NULL }),
    input: (config) => ({
      schema: {
        type: "string",
        format: "uri",
        pattern: "^[hH][tT][tT][pP][sS]?://",
        maxLength: MAX_URL_CHARS,
        ...shownFields(config),
      },
      required: config.required && config.default === undefined,
    }),
  },
});
