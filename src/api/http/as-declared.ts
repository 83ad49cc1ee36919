import type { z } from "zod";

/** The same value, where its arrays need not be ours to change. */
type Given<T> =
  T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Given<Item>>
    : T extends object
      ? { readonly [Name in keyof T]: Given<T[Name]> }
      : T;

/** What an answer shows of a row: the members that its schema declares. Any other stays here, so that no column leaks. */
export function asDeclared<Schema extends z.ZodObject>(schema: Schema, row: Given<z.output<Schema>>): z.output<Schema> {
  const given = row as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, given[name]])) as z.output<Schema>;
}
