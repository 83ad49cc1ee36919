import { PROBLEMS } from "../../../domain/errors.ts";
import type { JsonObject } from "../../../domain/json.ts";

const requestId: JsonObject = { type: "string", description: "The `X-Request-Id` of the response." };

/** The two shapes of an error: interface.md's for 422, RFC 9457 for the rest. */
export const ERROR_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  HTTPValidationError: {
    title: "HTTPValidationError",
    type: "object",
    properties: {
      detail: { title: "Detail", type: "array", items: { $ref: "#/components/schemas/ValidationError" } },
      code: { const: "validation_error" },
      request_id: requestId,
      problems: {
        type: "array",
        items: { $ref: "#/components/schemas/FlowProblem" },
        description: "Only for an invalid flow: the same problems with severity, node ID and hint.",
      },
    },
  },
  ValidationError: {
    title: "ValidationError",
    type: "object",
    required: ["loc", "msg", "type"],
    properties: {
      loc: {
        title: "Location",
        type: "array",
        items: { anyOf: [{ type: "string" }, { type: "integer" }] },
        description: "Path of the invalid value; starts with `path`, `query`, `body` or `header`.",
      },
      msg: { title: "Message", type: "string" },
      type: {
        title: "Error Type",
        type: "string",
        description: "Stable error type, for example missing, string_type, int_parsing.",
      },
    },
  },
  Problem: {
    title: "Problem",
    type: "object",
    required: ["type", "title", "status", "detail", "code", "request_id"],
    properties: {
      type: { type: "string", format: "uri" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string" },
      code: { type: "string", enum: Object.keys(PROBLEMS), description: "Error code from a fixed list." },
      request_id: requestId,
    },
  },
};
