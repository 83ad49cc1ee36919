import { compileRegex } from "../../flow/expressions/regex.ts";
import { isLongNumber } from "../../exact-json.ts";
import { isObject, listOf, type Json, type JsonObject } from "../../json.ts";
import { words } from "../../distinct.ts";
import { atPointer, refuse, type OpenApiDocument } from "./document.ts";

/** Keywords that matter neither for validation nor to callers. */
const LEFT_OUT = words("example examples xml externalDocs discriminator deprecated nullable $schema $id");
/** Keywords that map names to schemas. */
const MAPS = words("properties patternProperties $defs definitions dependentSchemas");
const DATA = words("enum const default required type");
/** Keywords whose value is a number. */
const NUMBERS = words(
  "maxLength minLength maxItems minItems maxProperties minProperties maxContains minContains maximum minimum exclusiveMaximum " +
    "exclusiveMinimum multipleOf",
);

/** Most distinct references in a document. */
const MAX_REFERENCES = 20_000;

interface Converted {
  readonly schema: Json;
  /** The references in it, by pointer. */
  readonly refs: readonly string[];
  /** Characters of its JSON. */
  readonly size: number;
}

/** Whether a schema describes a request or a response. */
export type Direction = "request" | "response";

/** Makes self-contained JSON Schemas (2020-12) from a document's schemas. */
export interface SchemaReader {
  /**
   * The schema, with everything it refers to in `$defs`, up to about `maxChars`. Definitions that do not fit accept anything, and
   * `$comment` names them.
   */
  read(schema: Json | undefined, direction: Direction, maxChars: number): JsonObject;
}

export function createSchemaReader(document: OpenApiDocument): SchemaReader {
  const known = new Map<string, Converted>();
  const names = new Map<string, string>();
  /** The next number to try for each name, so that a free one is found without trying all. */
  const counts = new Map<string, number>();
  const taken = new Set<string>();

  function convertedAt(pointer: string, direction: Direction): Converted {
    const key = `${direction} ${pointer}`;
    const before = known.get(key);
    if (before) return before;
    const target = atPointer(document.root, pointer);
    if (target === undefined) refuse(`The reference ${pointer.slice(0, 200)} points to nothing`);
    const converted = convert(target, direction);
    known.set(key, converted);
    return converted;
  }

  /** A unique name for each pointer: its last part, with a number if that name is taken. */
  function nameOf(pointer: string): string {
    const given = names.get(pointer);
    if (given !== undefined) return given;
    const base = (pointer.split("/").at(-1) ?? "").replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "schema";
    if (names.size >= MAX_REFERENCES) refuse(`The schema has more than ${MAX_REFERENCES} different references`);
    let n = counts.get(base) ?? 1;
    let name = n === 1 ? base : `${base}_${n}`;
    for (; taken.has(name); n += 1) name = `${base}_${n + 1}`;
    counts.set(base, n + 1);
    taken.add(name);
    names.set(pointer, name);
    return name;
  }

  function convert(schema: Json, direction: Direction): Converted {
    const refs: string[] = [];
    const result = walk(schema, direction, refs);
    return { schema: result, refs, size: JSON.stringify(result).length };
  }

  /**
   * Removes the alternatives of a base type, because a type that extends the base is itself one of them and would have to match them again.
   */
  function withoutAlternatives(part: Json): Json {
    const { $ref: pointer, ...beside } = isObject(part) ? part : {};
    const target = typeof pointer === "string" ? atPointer(document.root, pointer) : part;
    if (!isObject(target) || !isObject(target["discriminator"])) return part;
    if (target["oneOf"] === undefined && target["anyOf"] === undefined) return part;
    const { oneOf: _one, anyOf: _any, discriminator: _by, ...own } = target;
    return typeof pointer === "string" && document.version !== "3.0" ? { ...own, ...beside } : own;
  }

  function walk(value: Json, direction: Direction, refs: string[]): Json {
    if (!isObject(value)) return typeof value === "boolean" ? value : {};
    const { $ref } = value;
    const members: Array<[string, Json]> = [];
    if (typeof $ref === "string") {
      refs.push($ref);
      members.push(["$ref", `#/$defs/${nameOf($ref)}`]);
      // OpenAPI 3.0 ignores fields beside a reference; since 3.1 they apply too.
      if (document.version === "3.0") return Object.fromEntries(members);
    }
    for (const [given, member] of Object.entries(value)) {
      if (given === "$ref") continue;
      // Alternatives with a discriminator may overlap without it, so at least one must match instead of exactly one.
      const name = given === "oneOf" && isObject(value["discriminator"]) ? "anyOf" : given;
      if (LEFT_OUT.has(name) || name.startsWith("x-")) continue;
      if (MAPS.has(name) && isObject(member)) {
        const inner = Object.entries(member).map(([key, each]) => [key, walk(each, direction, refs)] as const);
        members.push([name, Object.fromEntries(inner)]);
      } else if (DATA.has(name) || typeof member !== "object" || member === null) members.push([name, member]);
      else if (Array.isArray(member)) {
        const all = name === "allOf" ? member.map((each: Json) => withoutAlternatives(each)) : member;
        members.push([name, all.map((each: Json) => walk(each, direction, refs))]);
      } else members.push([name, walk(member, direction, refs)]);
    }
    return adjusted(value, Object.fromEntries(members), direction, document);
  }

  return {
    read(schema, direction, maxChars) {
      if (schema === undefined) return {};
      const top = convert(schema, direction);
      const $defs: Record<string, Json> = {};
      let left = maxChars - top.size;
      const queue = [...top.refs];
      const left_out: string[] = [];
      for (let pointer = queue.shift(); pointer !== undefined; pointer = queue.shift()) {
        const name = nameOf(pointer);
        if (Object.hasOwn($defs, name)) continue;
        const { schema: found, refs, size } = convertedAt(pointer, direction);
        left -= size;
        if (left < 0) {
          left_out.push(name);
          $defs[name] = {};
        } else {
          $defs[name] = found;
          queue.push(...refs);
        }
      }
      const base = isObject(top.schema) ? top.schema : {};
      const whole = left < 0 && top.refs.length === 0 ? { $comment: "Too long to be shown: takes anything." } : base;
      if (Object.keys($defs).length === 0) return whole;
      const comment =
        left_out.length === 0 ? {} : { $comment: `Shortened: ${left_out.slice(0, 20).join(", ")} take anything.` };
      return { ...whole, ...comment, $defs };
    },
  };
}

/**
 * Removes numeric bounds beyond 2^53, which parsing has turned into strings; `$comment` tells readers about them, and the service checks
 * them. Removes `type` if an allowed value is such a long integer, because its value is a string here.
 */
function withoutLongBounds(schema: JsonObject): Record<string, Json> {
  const isLong = (value: Json | undefined): boolean => typeof value === "string" && isLongNumber(value);
  const bounds = Object.entries(schema).filter(([name, value]) => NUMBERS.has(name) && isLong(value));
  const result: Record<string, Json> = { ...schema };
  for (const [name] of bounds) delete result[name];
  if (bounds.length > 0) result["$comment"] = bounds.map(([name, value]) => `${name}: ${value as string}`).join(", ");
  if ([schema["const"], ...listOf(schema["enum"])].some(isLong)) delete result["type"];
  return result;
}

/** Converts what OpenAPI 3.0 defines differently from JSON Schema, and adapts to the direction. */
function adjusted(given: JsonObject, schema: JsonObject, direction: Direction, document: OpenApiDocument): JsonObject {
  const result: Record<string, Json> = withoutLongBounds(schema);
  if (document.version === "3.0") {
    for (const [flag, limit] of [
      ["exclusiveMinimum", "minimum"],
      ["exclusiveMaximum", "maximum"],
    ] as const) {
      if (typeof result[flag] !== "boolean") continue;
      const { [flag]: exclusive, [limit]: bound } = result;
      delete result[flag];
      if (exclusive === true && bound !== undefined) {
        result[flag] = bound;
        delete result[limit];
      }
    }
    if (given["nullable"] === true) {
      if (typeof result["type"] === "string") result["type"] = [result["type"], "null"];
      if (Array.isArray(result["enum"])) result["enum"] = [...(result["enum"] as Json[]), null];
    }
  }
  // RE2 has no lookahead or lookbehind, so the service alone checks patterns with them.
  if (typeof result["pattern"] === "string" && !compileRegex(result["pattern"]).ok) delete result["pattern"];
  // A field that occurs only in responses must not be required in a request, and vice versa.
  const hidden = direction === "request" ? "readOnly" : "writeOnly";
  const required = listOf(result["required"]).filter((name) => {
    const property = isObject(given["properties"]) && typeof name === "string" ? given["properties"][name] : undefined;
    return !(isObject(property) && document.resolve(property)[hidden] === true);
  });
  if (Array.isArray(result["required"])) result["required"] = required;
  return result;
}
