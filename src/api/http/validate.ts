import { z } from "zod";
import { ValidationProblem, type ValidationIssue } from "../../domain/errors.ts";
import { coerceTexts } from "./coerce.ts";
import { toValidationIssues, valueAt, type Location } from "../../domain/issues.ts";
import type { Operation } from "./operation.ts";
import { absenceOf } from "./schemas.ts";
import { isObject } from "../../domain/json.ts";

type Texts = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface RawRequest {
  readonly params: Texts;
  readonly query: Texts;
  /** Keyed by lower-case name. */
  readonly headers: Texts;
  readonly body: unknown;
  /** The body with rounded numbers, if `body` has long numbers as strings. */
  readonly rounded?: unknown;
}

export interface ValidRequest {
  readonly params: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
  readonly body: unknown;
}

/**
 * Checks every part of a request against the operation's schemas. Throws the 404 of an impossible version, or a ValidationProblem with the
 * issues of every part.
 */
export function validateRequest(operation: Operation, raw: RawRequest): ValidRequest {
  const issues: ValidationIssue[] = [];
  const params = operation.params ? readPath(operation.params, raw.params, issues) : {};
  const query = readQuery(operation, raw.query, issues);
  const headers = operation.headers
    ? readTexts(operation.headers, pick(operation.headers, raw.headers), "header", issues)
    : {};
  const body = operation.body ? readExactBody(operation.body, raw, issues, operation.looseBody) : undefined;
  if (issues.length > 0) throw new ValidationProblem(issues);
  return { params, query, headers, body };
}

function readPath(schema: z.ZodObject, texts: Texts, issues: ValidationIssue[]): Record<string, unknown> {
  const found: ValidationIssue[] = [];
  const values = readTexts(schema, texts, "path", found);
  for (const { loc } of found) {
    const declared = schema.shape[String(loc[1])] as z.ZodType | undefined;
    const absence = declared && absenceOf(declared);
    if (absence) throw absence;
  }
  for (const issue of found) issues.push(issue);
  return values;
}

function readQuery(operation: Operation, texts: Texts, issues: ValidationIssue[]): Record<string, unknown> {
  const shape = operation.query?.shape ?? {};
  if (!operation.looseQuery) {
    for (const name of Object.keys(texts)) {
      if (!Object.hasOwn(shape, name))
        issues.push({ loc: ["query", name], msg: "Extra inputs are not permitted", type: "extra_forbidden" });
    }
  }
  return operation.query ? readTexts(operation.query, pick(operation.query, texts), "query", issues) : {};
}

/** Converts texts to the types that their schema declares, and checks them; adds errors to `issues`. */
export function readTexts(
  schema: z.ZodObject,
  texts: Texts,
  location: Location,
  issues: ValidationIssue[],
): Record<string, unknown> {
  const coerced = coerceTexts(schema, texts, location);
  const parsed = schema.safeParse(coerced.values);
  if (parsed.success && coerced.issues.length === 0) return parsed.data;
  for (const issue of coerced.issues) issues.push(issue);
  if (!parsed.success) {
    // A value that could not be converted is reported once, not also as missing.
    const unread = new Set(coerced.issues.map((issue) => issue.loc[1]));
    for (const issue of toValidationIssues(parsed.error, location, coerced.values)) {
      if (!unread.has(issue.loc[1])) issues.push(issue);
    }
  }
  return {};
}

/**
 * Checks a body both with its long numbers as strings and as numbers. A field that accepts any JSON keeps the digits; a field that accepts
 * only numbers or only texts refuses the long number with its location.
 */
function readExactBody(schema: z.ZodType, raw: RawRequest, issues: ValidationIssue[], loose = false): unknown {
  if (raw.rounded === undefined) return readBody(schema, raw.body, issues, loose);
  const found: ValidationIssue[] = [];
  const body = readBody(schema, raw.body, found, loose);
  const places = new Set(found.map(({ loc }) => JSON.stringify(loc)));
  for (const issue of found) issues.push(tooLong(issue, raw) ?? issue);
  const others: ValidationIssue[] = [];
  readBody(schema, raw.rounded, others, loose);
  for (const issue of others) if (!places.has(JSON.stringify(issue.loc))) issues.push(issue);
  return body;
}

/** The issue for a number that was refused as a string because its digits would be lost. */
function tooLong(issue: ValidationIssue, { body, rounded }: RawRequest): ValidationIssue | null {
  const way = issue.loc.slice(1);
  const text = valueAt(body, way);
  if (typeof text !== "string" || typeof valueAt(rounded, way) !== "number") return null;
  const msg = `The number ${text.slice(0, 40)} has too many digits: whole numbers can be at most ${Number.MAX_SAFE_INTEGER}`;
  return { ...issue, msg };
}

function readBody(schema: z.ZodType, value: unknown, issues: ValidationIssue[], loose = false): unknown {
  if (loose && schema instanceof z.ZodObject && isObject(value)) return readLooseBody(schema, value, issues);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  addIssues(issues, parsed.error, value);
  return undefined;
}

/**
 * Checks the declared fields and keeps all others; a loose schema would copy each of them. A `__proto__` field must be reported like any
 * unknown one, but only its name is kept: its value is undefined, which is never used as a prototype.
 */
function readLooseBody(schema: z.ZodObject, value: object, issues: ValidationIssue[]): unknown {
  const declared = Object.keys(schema.shape).filter((name) => Object.hasOwn(value, name));
  const parsed = schema.safeParse(
    Object.fromEntries(declared.map((name) => [name, Reflect.get(value, name) as unknown])),
  );
  if (!parsed.success) {
    addIssues(issues, parsed.error, value);
    return undefined;
  }
  if (Object.hasOwn(value, "__proto__"))
    Object.defineProperty(value, "__proto__", { value: undefined, enumerable: true });
  return Object.assign(value, parsed.data);
}

/** Added one by one, because a body can have more issues than a call can have arguments. */
function addIssues(issues: ValidationIssue[], error: z.ZodError, value: unknown): void {
  for (const issue of toValidationIssues(error, "body", value)) issues.push(issue);
}

function pick(schema: z.ZodObject, texts: Texts): Texts {
  return Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, Object.hasOwn(texts, name) ? texts[name] : undefined]),
  );
}
