import { z } from "zod";
import { canonicalJson } from "../../../domain/flow/definition/content-hash.ts";
import type { Json, JsonObject } from "../../../domain/json.ts";
import { excludeForbiddenName } from "../../../domain/json-schema.ts";

/** Collects the named schemas of a document; unnamed ones are inlined. */
export interface SchemaComponents {
  /** The schema in requests ("input": defaults are optional) or in responses ("output"). */
  convert(schema: z.ZodType, io: "input" | "output"): JsonObject;
  /** Adds or replaces a named schema that is JSON Schema already; its own `$defs` become named schemas too. */
  add(name: string, schema: JsonObject): void;
  all(): Record<string, JsonObject>;
}

export const COMPONENTS = "#/components/schemas/";

export function createSchemaComponents(): SchemaComponents {
  const components = new Map<string, JsonObject>();

  /** The name of a definition; if requests and responses differ, they get different names. */
  function keep(name: string, schema: JsonObject, io: "input" | "output"): string {
    for (const candidate of [name, `${name}${io === "input" ? "Input" : "Output"}`]) {
      const known = components.get(candidate);
      if (known === undefined || canonicalJson(known) === canonicalJson(schema)) {
        components.set(candidate, schema);
        return candidate;
      }
    }
    throw new Error(`Two different schemas are called ${name}`);
  }

  return {
    convert(schema, io) {
      // Only nested schemas are extracted under their name, so the schema is nested in one.
      const { properties, $defs = {} } = z.toJSONSchema(z.object({ root: schema }), {
        target: "draft-2020-12",
        io,
        unrepresentable: "any",
        override: (context) => {
          const { jsonSchema } = context;
          delete jsonSchema.id;
          // Some clients omit `[]`, which the API accepts; in a generated client both would have the same name.
          for (const name of Object.keys(jsonSchema.properties ?? {}))
            if (name.endsWith("[]")) delete jsonSchema.properties?.[name.slice(0, -2)];
          if (io === "input") excludeForbiddenName(context);
          // Responses may gain fields, which clients that reject unknown fields would not accept.
          if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        },
      }) as unknown as { properties: { root: JsonObject }; $defs?: Record<string, JsonObject> };
      const names = new Map<string, string>();
      const rename = (ref: string): string => COMPONENTS + (names.get(nameOf(ref)) ?? nameOf(ref));
      // Definitions come after the ones they refer to, so that a renamed definition reaches them.
      for (const name of inOrder($defs)) names.set(name, keep(name, rewriteRefs($defs[name] ?? {}, rename), io));
      return rewriteRefs(properties.root, rename);
    },
    add(name, schema) {
      const { $defs = {}, $schema: _, ...rest } = schema as { $defs?: JsonObject } & JsonObject;
      const rename = (ref: string): string => COMPONENTS + inner(name, nameOf(ref));
      components.set(name, rewriteRefs(rest, rename));
      for (const [part, definition] of Object.entries($defs))
        components.set(inner(name, part), rewriteRefs(definition as JsonObject, rename));
    },
    all: () => Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** `FlowNodeHttp` of `Flow` and `node_http`. */
function inner(name: string, part: string): string {
  return name + part.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function inOrder(definitions: Readonly<Record<string, JsonObject>>): string[] {
  const done = new Set<string>();
  const visit = (name: string): void => {
    if (done.has(name) || definitions[name] === undefined) return;
    done.add(name);
    for (const ref of refsIn(definitions[name])) visit(nameOf(ref));
    ordered.push(name);
  };
  const ordered: string[] = [];
  Object.keys(definitions).forEach(visit);
  return ordered;
}

function refsIn(value: Json): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "$ref" && typeof member === "string" ? [member] : refsIn(member),
  );
}

function rewriteRefs(schema: JsonObject, rename: (ref: string) => string): JsonObject {
  const rewrite = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        isDefinition(key, member) ? rename(member) : rewrite(member as Json),
      ]),
    );
  };
  return rewrite(schema) as JsonObject;
}

function isDefinition(key: string, value: unknown): value is string {
  return key === "$ref" && typeof value === "string" && value.startsWith("#/$defs/");
}

function nameOf(ref: string): string {
  return ref.replace("#/$defs/", "");
}

/** The bounds that zod writes for an integer without bounds of its own. */
const NO_BOUND = Number.MAX_SAFE_INTEGER;
const SCALARS = new Set(["string", "number", "boolean", "null"]);

/**
 * Simplifies schemas for client generators. The definition of any JSON value, which refers to itself, becomes the schema that accepts
 * anything; bounds that do not restrict are omitted. The definitions are those of the document; references begin with `prefix`.
 */
export function plainSchemas(document: JsonObject, prefix: string): JsonObject {
  const { components } = document as { components: { schemas: Record<string, JsonObject> } & JsonObject };
  const anything = new Set(
    Object.entries(components.schemas).flatMap(([name, schema]) =>
      takesAnything(schema, prefix + name) ? [prefix + name] : [],
    ),
  );
  const rewrite = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value as JsonObject).flatMap(([key, member]): Array<[string, Json]> => {
        if (key === "$ref" && typeof member === "string" && anything.has(member)) return [];
        if ((key === "minimum" || key === "exclusiveMinimum") && member === -NO_BOUND) return [];
        if ((key === "maximum" || key === "exclusiveMaximum") && member === NO_BOUND) return [];
        return [[key, rewrite(member)]];
      }),
    );
  };
  const schemas = Object.fromEntries(
    Object.entries(components.schemas).filter(([name]) => !anything.has(prefix + name)),
  );
  return rewrite({ ...document, components: { ...components, schemas } }) as JsonObject;
}

function takesAnything(schema: JsonObject, self: string): boolean {
  const { anyOf } = schema as { anyOf?: JsonObject[] };
  return anyOf !== undefined && JSON.stringify(anyOf).includes(JSON.stringify(self)) && anyOf.every(isPart);

  function isPart({ type, items, additionalProperties, ...rest }: JsonObject): boolean {
    const known = Object.keys(rest).every((key) => key === "propertyNames" || key === "description");
    const refers = (at: Json | undefined): boolean => (at as JsonObject | undefined)?.["$ref"] === self;
    if (type === "array") return known && refers(items);
    if (type === "object") return known && refers(additionalProperties);
    return known && [type ?? ""].flat().every((each) => SCALARS.has(each as string));
  }
}
