import { z } from "zod";

/** The same type with read-only arrays, for values that the caller must not change. */
type Given<T> =
  T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Given<Item>>
    : T extends object
      ? { readonly [Name in keyof T]: Given<T[Name]> }
      : T;

/** Keeps only what the response's schema declares, in nested objects and lists too, so that no other column leaks. */
export function asDeclared<Schema extends z.ZodType>(schema: Schema, row: Given<z.output<Schema>>): z.output<Schema> {
  return declared(schema, row) as z.output<Schema>;
}

function declared(schema: z.ZodType, given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return declared(schema.unwrap() as z.ZodType, given);
  if (schema instanceof z.ZodArray && Array.isArray(given))
    return given.map((item) => declared(schema.element as z.ZodType, item));
  if (!(schema instanceof z.ZodObject)) return given;
  const { catchall } = schema.def;
  // An object that may hold more than its schema names is left whole.
  if (catchall !== undefined && !(catchall instanceof z.ZodNever)) return given;
  const members = given as Readonly<Record<string, unknown>>;
  const shape = schema.shape as Readonly<Record<string, z.ZodType>>;
  return Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, declared(member, members[name])]));
}
