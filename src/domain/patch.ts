import { z } from "zod";
import { ValidationProblem } from "./errors.ts";
import { isObject, type Json } from "./json.ts";
import { toValidationIssues } from "./issues.ts";

/** A change of a nested value: some fields of an object, with null for fields to remove. */
export type Patch<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Member in keyof Value]?: Patch<Value[Member]> | null | undefined }
    : Value;

/** The schema of a change to a value of this schema. `patched` checks whether the resulting value is valid. */
export function patchOf<Schema extends z.ZodType>(schema: Schema): z.ZodType<Patch<z.input<Schema>>> {
  return partOf(schema) as unknown as z.ZodType<Patch<z.input<Schema>>>;
}

function partOf(schema: z.ZodType): z.ZodType {
  const inner = unwrapped(schema);
  const { description } = schema;
  const part = inner instanceof z.ZodObject || inner instanceof z.ZodRecord ? membersOf(inner) : inner;
  return description === undefined ? part : part.describe(description);
}

function membersOf(schema: z.ZodObject | z.ZodRecord): z.ZodType {
  if (schema instanceof z.ZodRecord)
    return z.record(schema.keyType as z.ZodString, partOf(schema.valueType as z.ZodType).nullable());
  const members = Object.entries<z.ZodType>(schema.shape);
  return z.strictObject(Object.fromEntries(members.map(([name, member]) => [name, partOf(member).nullish()])));
}

/** The schema without optional, nullable and default wrappers. */
function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap() as z.ZodType);
  return schema;
}

/**
 * Merges a change into a nested value, as deep as the schema names fields; below that, values are replaced. Null removes a field, unless
 * the schema allows null for it.
 */
export function mergePatch(schema: z.ZodType, present: unknown, patch: unknown): Json {
  const inner = unwrapped(schema);
  if (!isObject(patch) || !(inner instanceof z.ZodObject || inner instanceof z.ZodRecord)) return patch as Json;
  const merged = new Map(isObject(present) ? Object.entries(present) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    const member = memberSchema(inner, name);
    const removes = value === null && !(inner instanceof z.ZodObject && member?.safeParse(null).success === true);
    if (removes) merged.delete(name);
    else merged.set(name, member === undefined ? value : mergePatch(member, merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

function memberSchema(schema: z.ZodObject | z.ZodRecord, name: string): z.ZodType | undefined {
  if (schema instanceof z.ZodRecord) return schema.valueType as z.ZodType;
  return Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
}

/**
 * The nested value after a change, with the schema's defaults for removed fields. Throws 422 at `member` of the body if the result is
 * invalid.
 */
export function patched<Schema extends z.ZodType>(
  schema: Schema,
  member: string,
  present: unknown,
  patch: unknown,
): z.output<Schema> {
  const whole = { [member]: mergePatch(schema, present, patch) };
  const parsed = z.object({ [member]: schema }).safeParse(whole);
  if (!parsed.success) throw new ValidationProblem(toValidationIssues(parsed.error, "body", whole));
  return parsed.data[member] as z.output<Schema>;
}
