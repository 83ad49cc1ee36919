import { isObject, type Json, type JsonObject } from "../../../domain/json.ts";

/** Example values by field name, used if the field's schema accepts them. */
const BY_NAME: Readonly<Record<string, Json>> = {
  name: "Answer letters",
  description: "Answers the letters of customers.",
  email: "ada@example.com",
  filename: "report.pdf",
  mime_type: "application/pdf",
  content_mime: "application/pdf",
  content_hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  url: "https://example.com/report.pdf",
  source_url: "https://example.com/report.pdf",
  resource_path: "reports/report.pdf",
  node_id: "in-0",
  model: "gpt-x",
  text: "The water of the lake is clean.",
  query: "Is the water clean?",
  message: "Accepted.",
  version: 1,
  latency_ms: 84,
  user_id: "ada-1",
  value: "Hello, Ada.",
  inputs: { "in-0": "Ada" },
  outputs: { "out-0": "Hello, Ada." },
  expected_outputs: { "out-0": "Hello, Ada." },
  tags: ["shop"],
  has_more: false,
  disabled: false,
  is_empty: false,
  truncated: false,
  cursor: null,
  error: null,
  pause: null,
  revoked_at: null,
  resumed_from: null,
  parent_run_id: null,
};
const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d",
  "date-time": "2026-03-14T09:26:53.589Z",
  date: "2026-03-14",
  uri: "https://example.com/",
  email: "ada@example.com",
  binary: "",
};
/** Preferred values of an enumeration, because an example shows a success. */
const GOOD = ["COMPLETED", "completed", "indexed", "active", "ready", "ok", "delivered", "published", "passed"];
const TEXTS = ["example", "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d", "1", "a"];

interface Media {
  readonly schema: JsonObject;
  example?: Json;
}

/** Gives an example to every successful JSON response that has none, made from its schema. */
export function addExamples(document: JsonObject): JsonObject {
  const { components, paths } = document as unknown as {
    components: { schemas: Record<string, JsonObject> };
    paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, Media> }> }>>;
  };
  const sample = createSampler(components.schemas);
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const media = content?.["application/json"];
      if (!status.startsWith("2") || media === undefined || "example" in media) continue;
      media.example = sample(media.schema);
    }
  }
  return document;
}

function createSampler(schemas: Readonly<Record<string, JsonObject>>): (schema: JsonObject) => Json {
  /** Undefined if the schema refers to itself. */
  function sample(schema: JsonObject, name: string, within: readonly string[]): Json | undefined {
    const { $ref, allOf, anyOf, oneOf } = schema as { $ref?: string } & Record<
      "allOf" | "anyOf" | "oneOf",
      JsonObject[]
    >;
    if ($ref !== undefined) {
      if (within.includes($ref)) return undefined;
      return sample(schemas[$ref.split("/").at(-1) ?? ""] ?? {}, name, [...within, $ref]);
    }
    if (schema["const"] !== undefined) return schema["const"];
    const alternatives = anyOf ?? oneOf;
    if (alternatives) {
      if (BY_NAME[name] === null && alternatives.some(({ type }) => type === "null")) return null;
      const samples = alternatives.map((each) => sample(each, name, within));
      return samples.find((each) => each !== undefined && each !== null) ?? samples.find((each) => each !== undefined);
    }
    if (allOf) {
      const parts = allOf.map((part) => sample(part, name, within) ?? {});
      return Object.assign({}, ...(parts as object[])) as JsonObject;
    }
    const named = BY_NAME[name];
    if (Array.isArray(schema["enum"]))
      return GOOD.find((each) => (schema["enum"] as Json[]).includes(each)) ?? schema["enum"][0];
    switch ([schema["type"]].flat()[0]) {
      case "object":
        return members(schema, named, within);
      case "array": {
        if (Array.isArray(named)) return named;
        const item = sample((schema["items"] ?? {}) as JsonObject, "", within);
        return item === undefined ? [] : Array.from({ length: Number(schema["minItems"] ?? 1) || 1 }, () => item);
      }
      case "string":
        return text(schema, named);
      case "integer":
      case "number":
        return typeof named === "number"
          ? named
          : Math.min(Math.max(Number(schema["minimum"] ?? 1), 1), Number(schema["maximum"] ?? 1));
      case "boolean":
        return typeof named === "boolean" ? named : true;
      case "null":
        return null;
      default:
        return named ?? "example";
    }
  }

  function members(schema: JsonObject, named: Json | undefined, within: readonly string[]): JsonObject {
    const { properties } = schema as { properties?: Record<string, JsonObject> };
    if (properties === undefined) return isObject(named) ? named : {};
    return Object.fromEntries(
      Object.entries(properties).flatMap(([name, member]): Array<[string, Json]> => {
        const value = sample(member, name, within);
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  return (schema) => sample(schema, "", []) ?? null;
}

function text({ format, pattern, minLength, maxLength }: JsonObject, named: Json | undefined): string {
  const formatted = typeof format === "string" ? BY_FORMAT[format] : undefined;
  if (formatted !== undefined) return formatted;
  const candidates = [...(typeof named === "string" ? [named] : []), ...TEXTS];
  const fits = (each: string): boolean =>
    each.length >= Number(minLength ?? 0) &&
    each.length <= Number(maxLength ?? 1000) &&
    (typeof pattern !== "string" || new RegExp(pattern, "u").test(each));
  return candidates.find(fits) ?? candidates[0] ?? "";
}
