import type { Json, JsonObject } from "../../../domain/json.ts";

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
