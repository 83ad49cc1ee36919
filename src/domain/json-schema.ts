import { z } from "zod";
import type { Json, JsonObject } from "./json.ts";

/** The field name that no request may have at any depth (src/api/http/json-guard.ts). */
const FORBIDDEN_NAME = { const: "__proto__" };

/**
 * Any JSON value. Not checked, because the value comes from a JSON parser and the recursive `z.json()` would visit every part of it again.
 */
export const jsonValueSchema = z.unknown().meta({
  id: "Json",
  description: "Any JSON value without fields named __proto__",
  anyOf: [
    { type: "object", propertyNames: { not: FORBIDDEN_NAME }, additionalProperties: { $ref: "#/$defs/Json" } },
    { type: "array", items: { $ref: "#/$defs/Json" } },
    { type: ["string", "number", "boolean", "null"] },
  ],
}) as z.ZodType<Json>;

/** Any JSON object, as jsonValueSchema. */
export const jsonObjectSchema = z.record(z.string(), jsonValueSchema);

/** Any JSON object in a response, whose documentation says nothing about its fields. */
export const anyObject = z.record(z.string(), z.unknown()) as z.ZodType as z.ZodType<JsonObject>;

/** The schema of an object that has all of these fields. */
export function objectSchema(properties: JsonObject): JsonObject {
  return { type: "object", properties, required: Object.keys(properties) };
}

/** The JSON Schema (2020-12) of what a caller may send. */
export function requestSchema(schema: z.ZodType): JsonObject {
  const json = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input", override: excludeForbiddenName });
  return json as unknown as JsonObject;
}

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>["override"]>;

/** An override of `z.toJSONSchema` for request schemas: the keys of a record may be any but the forbidden one. */
export const excludeForbiddenName: Override = ({ zodSchema, jsonSchema }) => {
  if (zodSchema._zod.def.type !== "record") return;
  jsonSchema.propertyNames = { ...(jsonSchema.propertyNames as object), not: FORBIDDEN_NAME };
};
