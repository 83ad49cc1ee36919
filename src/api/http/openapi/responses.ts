import { PROBLEMS, type ProblemCode } from "../../../domain/errors.ts";
import type { Json, JsonObject } from "../../../domain/json.ts";
import { EVENT_STREAM, NDJSON } from "../event-stream.ts";
import type { Operation, Success } from "../operation.ts";
import type { SchemaComponents } from "./components.ts";

const HEADERS_BY_STATUS: Readonly<Record<number, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  405: ["Allow"],
  409: ["Retry-After"],
  429: ["Retry-After", "RateLimit", "RateLimit-Policy"],
  503: ["Retry-After"],
};

/** Headers that several responses have; each is a component. */
export const SHARED_HEADERS: Readonly<Record<string, JsonObject>> = {
  "X-Request-Id": {
    description: "The request's own ID if it is usable, otherwise a new one.",
    schema: { type: "string" },
  },
  "WWW-Authenticate": { description: "Always the Bearer scheme.", schema: { type: "string" } },
  Allow: { description: "Methods that this URL supports.", schema: { type: "string" } },
  "Retry-After": { description: "Seconds to wait before a new attempt.", schema: { type: "integer" } },
  RateLimit: {
    description: 'What is left, e.g. `"default";r=59;t=60`. Only if a limit is configured.',
    schema: { type: "string" },
  },
  "RateLimit-Policy": { description: 'The limit, e.g. `"default";q=60;w=60`.', schema: { type: "string" } },
  "Idempotent-Replayed": {
    description:
      "`true` if an earlier request with this `Idempotency-Key` took effect: this is that request's response, run or document.",
    schema: { type: "string" },
  },
};

/** The problems that operations return, each a component, because most of them are the same for every operation. */
export interface ResponseComponents {
  /** A reference to the response with this status and one of these codes. */
  problem(status: number, codes: readonly ProblemCode[]): JsonObject;
  all(): JsonObject;
}

export function createResponseComponents(): ResponseComponents {
  const components = new Map<string, JsonObject>();
  return {
    problem(status, codes) {
      const sorted = codes.toSorted();
      const name = sorted.map(pascalCase).join("Or");
      if (!components.has(name)) components.set(name, problemResponse(status, sorted));
      return { $ref: `#/components/responses/${name}` };
    },
    all: () => Object.fromEntries(components),
  };
}

function pascalCase(code: ProblemCode): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Every response of an operation, by status. */
export function responsesOf(operation: Operation, schemas: SchemaComponents, shared: ResponseComponents): JsonObject {
  const responses: Record<string, JsonObject> = {};
  for (const [status, success] of Object.entries(operation.success))
    responses[status] = documented(success, operation, schemas);
  for (const [status, failure] of Object.entries(operation.failures ?? {}))
    responses[status] = documented(failure, operation, schemas);
  for (const [status, codes] of byStatus(problemCodes(operation)))
    responses[status] ??= status === 422 ? INVALID : shared.problem(status, codes);
  return responses;
}

const EVERYWHERE = ["method_not_allowed", "headers_too_large", "internal_error"] as const;

/** The error codes that an operation returns: its own, and the ones its declaration implies. */
function problemCodes(operation: Operation): ProblemCode[] {
  const codes = new Set<ProblemCode>([...EVERYWHERE, ...(operation.problems ?? [])]);
  const add = (condition: unknown, ...more: ProblemCode[]): void => {
    if (condition) for (const code of more) codes.add(code);
  };
  const authenticated = operation.auth !== "none";
  add(
    authenticated,
    "unauthorized",
    "forbidden",
    "missing_scope",
    "key_restricted",
    "rate_limited",
    "service_unavailable",
  );
  add(operation.params, "not_found");
  add(operation.query?.shape["cursor"], "invalid_cursor", "cursor_mismatch");
  add(operation.headers?.shape["if-match"], "precondition_failed");
  add(operation.body ?? operation.multipart, "payload_too_large", "unsupported_media_type");
  // Applies even if no parameter is declared, because then every parameter is unknown.
  add(!operation.invalidPage && (authenticated || operation.params || operation.query), "validation_error");
  add(operation.idempotent, "idempotency_conflict", "idempotency_in_progress");
  return [...codes];
}

/** One event of a stream, described as OpenAPI 3.2 does. */
function serverSentEvent(data: Json): JsonObject {
  return {
    type: "object",
    properties: {
      id: { type: "string", pattern: "^\\d+$" },
      event: { type: "string" },
      data: { type: "string", contentMediaType: "application/json", contentSchema: data },
    },
    required: ["id", "data"],
  };
}

function byStatus(codes: readonly ProblemCode[]): Map<number, ProblemCode[]> {
  const grouped = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const { status } = PROBLEMS[code];
    grouped.set(status, [...(grouped.get(status) ?? []), code]);
  }
  return grouped;
}

function documented(success: Success, operation: Operation, schemas: SchemaComponents): JsonObject {
  const content: Record<string, Json> = {};
  if (success.schema) {
    const example = success.example === undefined ? {} : { example: success.example as Json };
    content["application/json"] = { schema: schemas.convert(success.schema, "output"), ...example };
  }
  for (const [type, schema] of Object.entries(success.content ?? {})) {
    const converted = schema && schemas.convert(schema, "output");
    const bytes = type.startsWith("text/") ? { type: "string" } : BYTES;
    content[type] = { schema: converted ? (STREAMED[type]?.(converted) ?? converted) : bytes };
  }
  const own = Object.entries(success.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: "string" } },
  ]);
  const shared = ["X-Request-Id", ...(operation.idempotent ? ["Idempotent-Replayed"] : [])];
  return {
    description: success.description,
    headers: { ...headerRefs(shared), ...(Object.fromEntries(own) as JsonObject) },
    ...(Object.keys(content).length > 0 && { content }),
    ...(success.links && { links: success.links as unknown as Json }),
  };
}

/** The values arrive one by one, so the schema does not describe the content as a whole. */
const STREAMED: Readonly<Record<string, (schema: JsonObject) => JsonObject>> = {
  [EVENT_STREAM]: serverSentEvent,
  [NDJSON]: (schema) => ({
    type: "string",
    description: "One JSON value per line.",
    contentMediaType: "application/json",
    contentSchema: schema,
  }),
};

/** Content that is not text. */
export const BYTES: JsonObject = { type: "string", format: "binary" };

const INVALID: JsonObject = {
  description: "Validation Error",
  headers: headerRefs(["X-Request-Id"]),
  content: { "application/json": { schema: { $ref: "#/components/schemas/HTTPValidationError" } } },
};

function problemResponse(status: number, codes: readonly ProblemCode[]): JsonObject {
  const headers = headerRefs(["X-Request-Id", ...(HEADERS_BY_STATUS[status] ?? [])]);
  const schema = {
    allOf: [{ $ref: "#/components/schemas/Problem" }, { type: "object", properties: { code: { enum: [...codes] } } }],
  };
  const examples = codes.map((code) => [code, { value: exampleOf(code) }] as const);
  return {
    description: codes.map((code) => PROBLEMS[code].title).join("; "),
    headers,
    content: { "application/problem+json": { schema, examples: Object.fromEntries(examples) } },
  };
}

function exampleOf(code: ProblemCode): JsonObject {
  const { status, title } = PROBLEMS[code];
  return {
    type: `urn:millrace:problem:${code}`,
    title,
    status,
    detail: `${title}.`,
    code,
    request_id: "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d",
  };
}

function headerRefs(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

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
