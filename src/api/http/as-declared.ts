import type { z } from "zod";

/** The same type with read-only arrays, for values that the caller must not change. */
type Given<T> =
  T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Given<Item>>
    : T extends object
      ? { readonly [Name in keyof T]: Given<T[Name]> }
      : T;

/** Keeps only the fields of a row that the response's schema declares, so that no other column leaks. */
export function asDeclared<Schema extends z.ZodObject>(schema: Schema, row: Given<z.output<Schema>>): z.output<Schema> {
  const given = row as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, given[name]])) as z.output<Schema>;
}
