import { z } from "zod";
import { distinct } from "../../domain/distinct.ts";
import { noSuchVersion, notFound, type Problem } from "../../domain/errors.ts";
import { VERSION_PATTERN } from "../../domain/skills/reference.ts";

/** An object that has a name in the API document. */
export function named<Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) {
  return z.object(shape).meta({ id });
}

/** The same for bodies of requests, which are refused if they have other fields. */
export function namedStrict<Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) {
  return z.strictObject(shape).meta({ id });
}

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

/** The response for an impossible version: the same as for a version that does not exist. */
const absences = z.registry<{ absent: () => Problem }>();

/** A UUID in a request, in either case. Workflow ids and the run feed use lower case. */
export const givenId = z.uuid().toLowerCase();

/** A UUID in a path; anything else is a 422 at `path`. */
export function pathId(what: string): z.ZodUUID {
  return givenId.describe(`ID of the ${what}.`);
}

/** A version number in a path; anything else is the 404 of an unknown version. */
export function pathVersion(): z.ZodInt {
  return z
    .int()
    .min(-2_147_483_647)
    .max(2_147_483_647)
    .meta({ description: "Version number; -1 is the published version." })
    .register(absences, { absent: noSuchVersion });
}

/** A version of a skill in a path: a number or a name; anything else is the 404 of an unknown version. */
export function pathSkillVersion(): z.ZodString {
  return z
    .string()
    .regex(VERSION_PATTERN)
    .meta({ description: "Version number, `latest` or `default`." })
    .register(absences, { absent: () => notFound("skill version") });
}

/** The 404 to return if the parameter's schema refuses its text, or undefined if that is a 422. */
export function absenceOf(schema: z.ZodType): Problem | undefined {
  return absences.get(schema)?.absent();
}

/** Text without control characters, for user IDs and tags; written out, because few readers of the document know `\p{Cc}`. */
// oxlint-disable-next-line no-control-regex
const VISIBLE = /^[^\u0000-\u001f\u007f-\u009f]*$/;

/** Text of one character to `max`, without control characters. */
export function visibleText(max: number): z.ZodString {
  return z.string().min(1).max(max).regex(VISIBLE, "Control characters are not allowed");
}

export const tag = visibleText(64);
export const tagList = z.array(tag).max(20).overwrite(distinct);

/** The `<user>-<conversation>` ID: any text, which must match exactly. */
export const userHandle = visibleText(256).describe(
  "`user_id` in the form `<user>-<conversation>` that owns the documents; must match exactly.",
);
