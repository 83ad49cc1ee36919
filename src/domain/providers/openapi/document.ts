import { parse as parseYaml } from "yaml";
import { isObject } from "../../json.ts";
import type { Json, JsonObject } from "../../json.ts";
import { invalid } from "../../errors.ts";

/** Deepest nesting that is looked through. */
const MAX_DEPTH = 100;

/** A document whose local references are resolved on use, so that circles do no harm. */
export interface OpenApiDocument {
  readonly root: JsonObject;
  readonly version: "3.0" | "3.1";
  /** What a reference leads to; the value itself where it is none. Throws 422 for one that leads nowhere or outside. */
  resolve(value: Json | undefined): JsonObject;
}

/** Throws the 422 of an import. */
export function refuse(msg: string, ...path: Array<string | number>): never {
  throw invalid(["body", "openapi", ...path], msg);
}

/** The members of an object; none where it is no object. */
export function membersOf(value: Json | undefined): Array<[string, Json]> {
  return isObject(value) ? Object.entries(value) : [];
}

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Reads an OpenAPI 3.0 or 3.1 document. Nothing outside of it is ever loaded. Throws 422. */
export function readDocument(value: unknown): OpenApiDocument {
  if (!isObject(value)) refuse("An OpenAPI document is an object");
  const root: JsonObject = value;
  const found = /^3\.([012])(\.|$)/.exec(textOf(root["openapi"]))?.[1];
  if (root["swagger"] !== undefined) refuse("This is Swagger 2.0: convert it to OpenAPI 3", "swagger");
  if (found === undefined) refuse('OpenAPI 3.0 or 3.1 is expected, e.g. "openapi": "3.1.0"', "openapi");
  if (!isObject(root["paths"])) refuse("A document without paths has no operations", "paths");
  requireLocal(root, [], 0);
  return { root, version: found === "0" ? "3.0" : "3.1", resolve: resolver(root) };
}

/** Follows the references of a document. */
export function resolver(root: JsonObject): OpenApiDocument["resolve"] {
  return (start) => {
    let current = start;
    for (let hops = 0; hops < 20; hops += 1) {
      if (!isObject(current)) return {};
      const { $ref } = current;
      if (typeof $ref !== "string") return current;
      current = atPointer(root, $ref);
      if (current === undefined) refuse(`The reference ${$ref.slice(0, 200)} leads nowhere`);
    }
    return refuse("A reference leads to itself");
  };
}

/** What a local reference points to. */
export function atPointer(root: JsonObject, ref: string): Json | undefined {
  const steps = ref
    .replace(/^#\/?/, "")
    .split("/")
    .filter((step, at) => step !== "" || at > 0)
    .map((step) => decoded(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  let current: Json | undefined = root;
  for (const step of steps) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step)) return undefined;
    current = (current as Readonly<Record<string, Json>>)[step];
  }
  return current;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** Refuses references to anything outside the document: they would be read from wherever the document says. */
export function requireLocal(value: Json, path: ReadonlyArray<string | number>, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > MAX_DEPTH) refuse(`The document is nested deeper than ${MAX_DEPTH} levels`, ...path.slice(0, 5));
  if (Array.isArray(value)) {
    value.forEach((each: Json, index) => requireLocal(each, [...path, index], depth + 1));
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const isReference = name === "$ref" && typeof member === "string";
    if (isReference && !member.startsWith("#")) {
      refuse(
        `Only references within the document are followed: bundle it first (${member.slice(0, 200)})`,
        ...path,
        name,
      );
    }
    // What stands in examples is data.
    if (name !== "example" && name !== "examples") requireLocal(member, [...path, name], depth + 1);
  }
}

/** A document as JSON or YAML. Throws 422. */
export function parseDocumentText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // YAML then: JSON with a slip in it is mostly no YAML either.
  }
  try {
    return JSON.parse(JSON.stringify(parseYaml(text, { maxAliasCount: 100, schema: "core", merge: false })));
  } catch {
    return refuse("The document is neither JSON nor YAML");
  }
}
