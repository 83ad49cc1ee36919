import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { faultOfForm } from "./form-cost.ts";
import { areUnique, isQuickToCheck } from "./form-work.ts";
import { PatternBudget, PATTERNS_TOO_LARGE, patternSize } from "../expressions/pattern-size.ts";
import { compileRegex } from "../expressions/regex.ts";

/** Longest form (characters of JSON). Compiling takes time in proportion. */
const MAX_FORM_CHARS = 16 * 1024;

/** Longest forms of one flow together. */
const MAX_FLOW_FORM_CHARS = 64 * 1024;

/** Values an answer may consist of. */
const MAX_DATA_VALUES = 10_000;

export type CheckedForm =
  | { readonly ok: true; readonly check: (data: unknown) => readonly FormIssue[] }
  | { readonly ok: false; readonly message: string };

/**
 * A compiler for all forms of one flow: alike ones are compiled once, and of the others no more than `patterns` and
 * MAX_FLOW_FORM_CHARS leave room for.
 */
export function createFlowFormCompiler(patterns: PatternBudget): (schema: unknown) => CheckedForm {
  const compile = createFormCompiler(patterns);
  const known = new Map<string, CheckedForm>();
  let chars = 0;
  return (schema) => {
    const text = JSON.stringify(schema);
    const alike = known.get(text);
    if (alike) return alike;
    chars += text.length;
    if (chars > MAX_FLOW_FORM_CHARS) {
      const message = `All forms of a flow together, alike ones counted once, are at most ${MAX_FLOW_FORM_CHARS} characters of JSON`;
      return { ok: false, message };
    }
    const checked = compile(schema);
    known.set(text, checked);
    return checked;
  };
}

/** One place where data breaks a form. */
export interface FormIssue {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

/**
 * Makes a compiler of JSON Schemas (2020-12) written by users. It loads nothing, runs `pattern` on RE2, and refuses
 * what would make checking asynchronous or more than linear. A compiler costs about 20 ms, a schema a few: keep it for
 * one task. `patterns` is what the task may still compile.
 */
export function createFormCompiler(patterns = new PatternBudget()): (schema: unknown) => CheckedForm {
  function patternOf(pattern: string): ReturnType<typeof toPattern> {
    if (!patterns.take(patternSize(pattern))) throw new Error(PATTERNS_TOO_LARGE);
    return toPattern(pattern);
  }
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    addUsedSchema: false,
    logger: false,
    // Written out, a reference used a hundred times is compiled a hundred times.
    inlineRefs: false,
    code: { regExp: Object.assign(patternOf, { code: "patternOf" }) },
  });
  addFormats.default(ajv, { mode: "fast" });
  // Ajv's own compares every item with every other.
  ajv.removeKeyword("uniqueItems").addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: (wanted: boolean, items: readonly unknown[]) => !wanted || areUnique(items),
    error: { message: "must NOT have duplicate items" },
  });
  return (schema) => {
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      return { ok: false, message: "A form is a JSON Schema: an object" };
    }
    if (JSON.stringify(schema).length > MAX_FORM_CHARS) {
      return { ok: false, message: `A form is at most ${MAX_FORM_CHARS} characters of JSON` };
    }
    const fault = faultOfForm(schema);
    if (fault !== undefined) return { ok: false, message: fault };
    try {
      const validate = ajv.compile(schema);
      return { ok: true, check: (data) => issuesOf(schema, data, validate) };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : "The form cannot be read" };
    } finally {
      // Otherwise the compiler keeps every schema it has seen.
      ajv.removeSchema(schema);
    }
  };
}

function issuesOf(
  form: object,
  data: unknown,
  validate: { (data: unknown): unknown; errors?: ErrorObject[] | null },
): FormIssue[] {
  if (!hasAtMost(data, MAX_DATA_VALUES)) {
    return [{ path: [], message: `An answer may consist of ${MAX_DATA_VALUES} values at most` }];
  }
  if (!isQuickToCheck(form, data)) {
    return [{ path: [], message: "Checking this much data with the form takes too long: send less of it" }];
  }
  return validate(data) === true ? [] : (validate.errors ?? []).map(toIssue);
}

function hasAtMost(data: unknown, most: number): boolean {
  const open: unknown[] = [data];
  let count = 0;
  for (let value = open.pop(); count <= most; value = open.pop()) {
    count += 1;
    if (typeof value === "object" && value !== null) {
      const members: unknown[] = Object.values(value);
      if (count + open.length + members.length > most) return false;
      open.push(...members);
    }
    if (open.length === 0) return true;
  }
  return false;
}

/** What Ajv asks of a regular expression engine. `pattern` of JSON Schema is a search, not a full match. */
function toPattern(pattern: string): { test(text: string): boolean; toString(): string } {
  const compiled = compileRegex(pattern);
  if (!compiled.ok) throw new Error(compiled.message);
  const { regex } = compiled;
  // Ajv tells patterns apart by their toString: without it, every one would be the first that it has ever compiled.
  return { test: (text) => regex.test(text), toString: () => `/${pattern}/` };
}

function toIssue(error: ErrorObject): FormIssue {
  const steps = error.instancePath.split("/").slice(1);
  const path = steps.map((step) => {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    return /^(0|[1-9][0-9]*)$/.test(name) ? Number(name) : name;
  });
  return { path, message: error.message ?? "is not valid" };
}
