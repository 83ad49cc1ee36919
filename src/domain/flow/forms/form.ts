import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { compileRegex } from "../expressions/regex.ts";
import { isObject } from "../../json.ts";

/** Longest form (characters of JSON) that a flow may have. */
const MAX_FORM_CHARS = 16 * 1024;

/** Longest schema that data is checked against: imported ones are longer than forms. */
export const MAX_SCHEMA_CHARS = 256 * 1024;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

export type CheckedForm =
  | { readonly ok: true; readonly check: (data: unknown) => readonly FormIssue[] }
  | { readonly ok: false; readonly message: string };

/** One place where data breaks a form. */
export interface FormIssue {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

/** Reads a form: a JSON Schema that a user wrote. */
export type FormCompiler = (schema: unknown) => CheckedForm;

/**
 * Makes a compiler of JSON Schemas (2020-12) written by users. It loads nothing and runs `pattern` on RE2. The user
 * decides how much compiling and checking cost, so both happen where time and memory are limited. A compiler costs
 * about 20 ms, a schema a few: keep it for one task.
 */
export function createFormCompiler(maxChars = MAX_FORM_CHARS): FormCompiler {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    addUsedSchema: false,
    logger: false,
    // Written out, a reference used a hundred times is compiled a hundred times.
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
      // Otherwise the compiler keeps every schema it has seen.
      ajv.removeSchema(schema);
    }
  }

  return (schema) => {
    if (!isObject(schema)) {
      return { ok: false, message: "A form is a JSON Schema: an object" };
    }
    const text = JSON.stringify(schema);
    if (text.length > maxChars) {
      return { ok: false, message: `A form is at most ${maxChars} characters of JSON` };
    }
    const dialect = "$schema" in schema ? schema["$schema"] : DIALECT;
    if (dialect !== DIALECT && dialect !== `${DIALECT}#`) {
      return { ok: false, message: "A form is JSON Schema 2020-12: leave out $schema" };
    }
    const checked = known.get(text) ?? compile(schema);
    known.set(text, checked);
    return checked;
  };
}

/**
 * The places where data breaks a schema that was checked when it was stored: the form of a pause, the inputs of an
 * action.
 */
export function checkAnswer(schema: unknown, data: unknown): readonly FormIssue[] {
  const form = createFormCompiler(MAX_SCHEMA_CHARS)(schema);
  // A form that cannot be compiled accepts no answer.
  if (!form.ok) throw new Error(`A form cannot be read: ${form.message}`);
  try {
    return form.check(data);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ path: [], message: "The form contains itself too often to be checked with this data" }];
  }
}

/** The places where each of several values breaks a schema, or why the schema cannot be used. */
export type CheckedValues =
  | { readonly ok: true; readonly issues: ReadonlyArray<readonly FormIssue[]> }
  | { readonly ok: false; readonly message: string };

/** Checks values with a schema that a user wrote. */
export function checkValues(schema: unknown, values: readonly unknown[]): CheckedValues {
  const form = createFormCompiler(MAX_SCHEMA_CHARS)(schema);
  if (!form.ok) return { ok: false, message: form.message.replace(/^A form/, "A schema") };
  try {
    return { ok: true, issues: values.map((value) => form.check(value)) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { ok: false, message: "The schema contains itself too often to be checked with these values" };
  }
}

/** What Ajv asks of a regular expression engine. `pattern` of JSON Schema is a search, not a full match. */
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
  // The reader looks for the member, which is missing from the data.
  if (typeof missing === "string") return { path: [...path, missing], message: "must be given" };
  const what = typeof extra === "string" ? ` (${extra})` : "";
  return { path, message: `${error.message ?? "is not valid"}${what}` };
}
