import { parseDocument, visit } from "yaml";
import { isLongNumber, parseExactJson } from "../../exact-json.ts";
import { isObject, ownMember, type Json, type JsonObject } from "../../json.ts";
import { invalid } from "../../errors.ts";

/** Deepest nesting that is examined. */
const MAX_DEPTH = 100;

/** An OpenAPI document whose local references are resolved only on use, so that cycles do no harm. */
export interface OpenApiDocument {
  readonly root: JsonObject;
  readonly version: "3.0" | "3.1";
  /** The target of a reference; any other value unchanged. Throws 422 for a reference to nothing or outside the document. */
  resolve(value: Json | undefined): JsonObject;
}

/** Throws the 422 of an import. */
export function refuse(msg: string, ...path: Array<string | number>): never {
  throw invalid(["body", "openapi", ...path], msg);
}

/** The fields of an object; empty for any other value. */
export function membersOf(value: Json | undefined): Array<[string, Json]> {
  return isObject(value) ? Object.entries(value) : [];
}

export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Reads an OpenAPI 3.0 or 3.1 document. Never loads anything outside of it. Throws 422. */
export function readDocument(value: unknown): OpenApiDocument {
  if (!isObject(value)) refuse("An OpenAPI document must be an object");
  const root: JsonObject = value;
  const found = /^3\.([012])(\.|$)/.exec(textOf(root["openapi"]))?.[1];
  if (root["swagger"] !== undefined) refuse("This is Swagger 2.0: convert it to OpenAPI 3", "swagger");
  if (found === undefined) refuse('The document must be OpenAPI 3.0 or 3.1, e.g. "openapi": "3.1.0"', "openapi");
  if (!isObject(root["paths"])) refuse("A document without paths has no operations", "paths");
  requireLocal(root, [], 0);
  const version = found === "0" ? "3.0" : "3.1";
  return { root, version, resolve: resolver(root, version) };
}

/** Resolves the references of a document. Since 3.1, fields beside a reference apply too, and take precedence. */
export function resolver(root: JsonObject, version: OpenApiDocument["version"]): OpenApiDocument["resolve"] {
  return (start) => {
    let current = start;
    let beside: JsonObject | undefined;
    for (let hops = 0; hops < 20; hops += 1) {
      if (!isObject(current)) return {};
      const { $ref, ...own }: JsonObject = current;
      if (typeof $ref !== "string") return beside === undefined ? current : { ...current, ...beside };
      if (version !== "3.0") beside = { ...own, ...beside };
      current = atPointer(root, $ref);
      if (current === undefined) refuse(`The reference ${$ref.slice(0, 200)} points to nothing`);
    }
    return refuse("A reference points to itself");
  };
}

/** The target of a local reference. */
export function atPointer(root: JsonObject, ref: string): Json | undefined {
  const steps = ref
    .replace(/^#\/?/, "")
    .split("/")
    .filter((step, at) => step !== "" || at > 0)
    .map((step) => decoded(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce<unknown>(ownMember, root) as Json | undefined;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** Rejects references outside the document, because following them would fetch URLs of the document's choice. */
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
        `References to other documents are not followed: bundle the document first (${member.slice(0, 200)})`,
        ...path,
        name,
      );
    }
    // Examples are data, so a "$ref" in them is not a reference.
    if (name !== "example" && name !== "examples") requireLocal(member, [...path, name], depth + 1);
  }
}

/** A document as JSON or YAML. Throws 422. */
export function parseDocumentText(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    // Not JSON, so try YAML; JSON with a syntax error is usually not YAML either.
  }
  try {
    return JSON.parse(JSON.stringify(readYaml(text)));
  } catch {
    return refuse("The document is neither valid JSON nor valid YAML");
  }
}

/** As with JSON, a number that parsing would change becomes a string with its digits. Throws YAMLParseError. */
function readYaml(text: string): unknown {
  const document = parseDocument(text, { schema: "core", merge: false });
  const [error] = document.errors;
  if (error) throw error;
  visit(document, {
    Scalar(_key, node) {
      const { value, source = "" } = node;
      if (typeof value !== "number") return;
      if (isLongNumber(source)) node.value = source;
      else if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^(?:0[xo][\da-f]+|\+\d+)$/i.test(source))
        node.value = String(BigInt(source.replace("+", "")));
    },
  });
  return document.toJS({ maxAliasCount: 100 });
}
