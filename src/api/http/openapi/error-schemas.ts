import { PROBLEMS } from "../../../domain/errors.ts";
import type { JsonObject } from "../../../domain/json.ts";

const requestId: JsonObject = { type: "string", description: "The X-Request-Id of the answer." };

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
        description: "For an invalid flow: the same, with severities, node ids and hints.",
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
        description: "Begins with path, query, body or header.",
      },
      msg: { title: "Message", type: "string" },
      type: {
        title: "Error Type",
        type: "string",
        description: "A stable word, e.g. missing, string_type, int_parsing.",
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
      code: { type: "string", enum: Object.keys(PROBLEMS), description: "A stable word from a closed list." },
      request_id: requestId,
    },
  },
};
