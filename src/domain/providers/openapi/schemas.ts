import { compileRegex } from "../../flow/expressions/regex.ts";
import { isObject } from "../../json.ts";
import type { Json, JsonObject } from "../../json.ts";
import { atPointer, listOf, refuse } from "./document.ts";
import type { OpenApiDocument } from "./document.ts";

/** Members of schemas that say nothing to whom validates or calls. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "example",
  "examples",
  "xml",
  "externalDocs",
  "discriminator",
  "deprecated",
  "nullable",
  "$schema",
  "$id",
]);
/** Members that map names to schemas, and members that are schemas or lists of them. */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "required", "type"]);

/** Different references in a document. */
const MAX_REFERENCES = 20_000;

interface Converted {
  readonly schema: Json;
  /** The references in it, by pointer. */
  readonly refs: readonly string[];
  /** Characters of its JSON. */
  readonly size: number;
}

/** Whether a schema describes what is sent or what comes back. */
export type Direction = "request" | "response";

/** Makes self-contained JSON Schemas (2020-12) from the schemas of a document. */
export interface SchemaReader {
  /**
   * The schema with everything that it refers to in `$defs`, at most about `maxChars` of it: what does not fit takes anything, and
   * says so in `$comment`.
   */
  read(schema: Json | undefined, direction: Direction, maxChars: number): JsonObject;
}

export function createSchemaReader(document: OpenApiDocument): SchemaReader {
  const known = new Map<string, Converted>();
  const names = new Map<string, string>();
  /** How many pointers end in a name, so that the next is found without looking at all of them. */
  const counts = new Map<string, number>();
  const taken = new Set<string>();

  function convertedAt(pointer: string, direction: Direction): Converted {
    const key = `${direction} ${pointer}`;
    const before = known.get(key);
    if (before) return before;
    const target = atPointer(document.root, pointer);
    if (target === undefined) refuse(`The reference ${pointer.slice(0, 200)} leads nowhere`);
    const converted = convert(target, direction);
    known.set(key, converted);
    return converted;
  }

  /** One name for each pointer: the last part of it, with a number where that is taken. */
  function nameOf(pointer: string): string {
    const given = names.get(pointer);
    if (given !== undefined) return given;
    const base = (pointer.split("/").at(-1) ?? "").replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "schema";
    if (names.size >= MAX_REFERENCES) refuse(`It has more than ${MAX_REFERENCES} different references`);
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

  /** Drops the alternatives of a base type: the type built on it is one of them, so it cannot match all of them again. */
  function withoutAlternatives(part: Json): Json {
    const pointer = isObject(part) ? part["$ref"] : undefined;
    const target = typeof pointer === "string" ? atPointer(document.root, pointer) : part;
    if (!isObject(target) || !isObject(target["discriminator"])) return part;
    if (target["oneOf"] === undefined && target["anyOf"] === undefined) return part;
    const { oneOf: _one, anyOf: _any, discriminator: _by, ...own } = target;
    return own;
  }

  function walk(value: Json, direction: Direction, refs: string[]): Json {
    if (!isObject(value)) return typeof value === "boolean" ? value : {};
    const { $ref } = value;
    if (typeof $ref === "string") {
      refs.push($ref);
      return { $ref: `#/$defs/${nameOf($ref)}` };
    }
    const members: Array<[string, Json]> = [];
    for (const [given, member] of Object.entries(value)) {
      // Told apart by a discriminator, alternatives may overlap without it: one of them at least holds.
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

/** What OpenAPI 3.0 says otherwise than JSON Schema, and what depends on the direction. */
function adjusted(given: JsonObject, schema: JsonObject, direction: Direction, document: OpenApiDocument): JsonObject {
  const result: Record<string, Json> = { ...schema };
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
  // Patterns run on RE2, which has no looking ahead or behind: the service itself checks those.
  if (typeof result["pattern"] === "string" && !compileRegex(result["pattern"]).ok) delete result["pattern"];
  // What only comes back must not be asked for, and the other way round.
  const hidden = direction === "request" ? "readOnly" : "writeOnly";
  const required = listOf(result["required"]).filter((name) => {
    const property = isObject(given["properties"]) && typeof name === "string" ? given["properties"][name] : undefined;
    return !(isObject(property) && document.resolve(property)[hidden] === true);
  });
  if (Array.isArray(result["required"])) result["required"] = required;
  return result;
}
