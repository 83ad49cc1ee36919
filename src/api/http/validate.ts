import { z } from "zod";
import { ValidationProblem } from "../../domain/errors.ts";
import type { ValidationIssue } from "../../domain/errors.ts";
import { coerceTexts } from "./coerce.ts";
import { toValidationIssues } from "./issues.ts";
import type { Location } from "./issues.ts";
import type { Operation } from "./operation.ts";
import { absenceOf } from "./path-id.ts";
import { isObject } from "../../domain/json.ts";

type Texts = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface RawRequest {
  readonly params: Texts;
  readonly query: Texts;
  /** By lower-case name. */
  readonly headers: Texts;
  readonly body: unknown;
}

export interface ValidRequest {
  readonly params: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
  readonly body: unknown;
}

/**
 * Checks every part of a request against the operation's schemas. Throws the 404 of a version that cannot be, or a
 * ValidationProblem with the issues of every part.
 */
export function validateRequest(operation: Operation, raw: RawRequest): ValidRequest {
  const issues: ValidationIssue[] = [];
  const params = operation.params ? readPath(operation.params, raw.params, issues) : {};
  const query = readQuery(operation, raw.query, issues);
  const headers = operation.headers
    ? readTexts(operation.headers, pick(operation.headers, raw.headers), "header", issues)
    : {};
  const body = operation.body ? readBody(operation.body, raw.body, issues, operation.looseBody) : undefined;
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

/** Gives texts the types their schema declares, and checks them; what is wrong is added to `issues`. */
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
    // A value that could not be read is reported once, not also as missing.
    const unread = new Set(coerced.issues.map((issue) => issue.loc[1]));
    for (const issue of toValidationIssues(parsed.error, location, coerced.values)) {
      if (!unread.has(issue.loc[1])) issues.push(issue);
    }
  }
  return {};
}

function readBody(schema: z.ZodType, value: unknown, issues: ValidationIssue[], loose = false): unknown {
  if (loose && schema instanceof z.ZodObject && isObject(value)) return readLooseBody(schema, value, issues);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  addIssues(issues, parsed.error, value);
  return undefined;
}

/**
 * Checks the declared members and leaves all others as they are; a loose schema would copy every one of them. A
 * member `__proto__` must be reported like any unknown one, but only its name is kept: its value is undefined, which
 * becomes no prototype, wherever it may be assigned.
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

/** One by one: a body can have more issues than a call has room for arguments. */
function addIssues(issues: ValidationIssue[], error: z.ZodError, value: unknown): void {
  for (const issue of toValidationIssues(error, "body", value)) issues.push(issue);
}

function pick(schema: z.ZodObject, texts: Texts): Texts {
  return Object.fromEntries(
    Object.keys(schema.shape).map((name) => [name, Object.hasOwn(texts, name) ? texts[name] : undefined]),
  );
}
