import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { compileRegex } from "../expressions/regex.ts";
import { isObject } from "../../json.ts";

/** Longest form of a flow (characters of JSON). */
const MAX_FORM_CHARS = 16 * 1024;

/** Longest schema for checking data; imported schemas are longer than forms. */
export const MAX_SCHEMA_CHARS = 256 * 1024;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

export type CheckedForm =
  | { readonly ok: true; readonly check: (data: unknown) => readonly FormIssue[] }
  | { readonly ok: false; readonly message: string };

/** One location where data violates a form. */
export interface FormIssue {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

/** Compiles a form, a JSON Schema that a user wrote. */
export type FormCompiler = (schema: unknown) => CheckedForm;

/**
 * Makes a compiler for users' JSON Schemas (2020-12). It loads no references and runs `pattern` on RE2. The user controls the cost of
 * compiling and checking, so call both only where time and memory are limited. Creating a compiler takes about 20 ms and compiling a schema
 * a few, so reuse a compiler within a task.
 */
export function createFormCompiler(maxChars = MAX_FORM_CHARS): FormCompiler {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    addUsedSchema: false,
    logger: false,
    // Inlining would compile a reference that is used a hundred times a hundred times.
    inlineRefs: false,
    code: { regExp: Object.assign(toPattern, { code: "toPattern" }) },
  });
  addFormats.default(ajv, { mode: "fast" });
  const known = new Map<string, CheckedForm>();

  function compile(schema: object): CheckedForm {
    try {
      const validate = ajv.compile(schema);
      if ("$async" in validate) return { ok: false, message: "A form cannot use $async" };
      return { ok: true, check: (data) => (validate(data) ? [] : (validate.errors ?? []).map(toIssue)) };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : "The form cannot be read" };
    } finally {
      // Otherwise the compiler would keep every schema it has compiled.
      ajv.removeSchema(schema);
    }
  }

  return (schema) => {
    if (!isObject(schema)) {
      return { ok: false, message: "A form must be a JSON Schema object" };
    }
    const text = JSON.stringify(schema);
    if (text.length > maxChars) {
      return { ok: false, message: `A form can have at most ${maxChars} characters of JSON` };
    }
    const dialect = "$schema" in schema ? schema["$schema"] : DIALECT;
    if (dialect !== DIALECT && dialect !== `${DIALECT}#`) {
      return { ok: false, message: "A form must be JSON Schema 2020-12: remove $schema" };
    }
    const checked = known.get(text) ?? compile(schema);
    known.set(text, checked);
    return checked;
  };
}

/** The locations where data violates a schema that was checked when it was stored: the form of a pause, or the inputs of an action. */
export function checkAnswer(schema: unknown, data: unknown): readonly FormIssue[] {
  const form = createFormCompiler(MAX_SCHEMA_CHARS)(schema);
  // A form that cannot be compiled accepts no answer.
  if (!form.ok) throw new Error(`The form cannot be read: ${form.message}`);
  try {
    return form.check(data);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ path: [], message: "The form refers to itself too often to check this data" }];
  }
}

/** The violations of each of several values, or why the schema cannot be used. */
export type CheckedValues =
  | { readonly ok: true; readonly issues: ReadonlyArray<readonly FormIssue[]> }
  | { readonly ok: false; readonly message: string };

/** Checks values against a user's schema. */
export function checkValues(schema: unknown, values: readonly unknown[]): CheckedValues {
  const form = createFormCompiler(MAX_SCHEMA_CHARS)(schema);
  if (!form.ok) return { ok: false, message: form.message.replace(/^A form/, "A schema") };
  try {
    return { ok: true, issues: values.map((value) => form.check(value)) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { ok: false, message: "The schema refers to itself too often to check these values" };
  }
}

/** The interface that Ajv expects from a regular expression. `pattern` in JSON Schema matches anywhere in the text. */
function toPattern(pattern: string): { test(text: string): boolean; toString(): string } {
  const compiled = compileRegex(pattern);
  if (!compiled.ok) throw new Error(compiled.message);
  const { regex } = compiled;
  // Ajv caches patterns by their toString: without it, all of them would share one cache entry.
  return { test: (text) => regex.test(text), toString: () => `/${pattern}/` };
}

function toIssue(error: ErrorObject): FormIssue {
  const steps = error.instancePath.split("/").slice(1);
  const path = steps.map((step) => {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    return /^(0|[1-9][0-9]*)$/.test(name) ? Number(name) : name;
  });
  const { additionalProperty: extra, missingProperty: missing } = error.params as Record<string, unknown>;
  // The path includes the missing field, although the data does not have it.
  if (typeof missing === "string") return { path: [...path, missing], message: "is required" };
  const what = typeof extra === "string" ? ` (${extra})` : "";
  return { path, message: `${error.message ?? "is not valid"}${what}` };
}
