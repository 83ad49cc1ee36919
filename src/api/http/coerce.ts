import { z } from "zod";
import type { ValidationIssue } from "../../domain/errors.ts";
import { unstorableIssue } from "./json-guard.ts";
import type { Location } from "../../domain/issues.ts";

const TRUE = ["true", "1", "yes", "on"];
/** A number as JSON writes it, with an optional plus sign. */
const NUMBER = /^[+-]?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?$/;
const FALSE = ["false", "0", "no", "off"];

export interface Coerced {
  readonly values: Record<string, unknown>;
  readonly issues: ValidationIssue[];
}

/**
 * Converts the texts of a path, query or header to the types that their schema declares, so that schemas can say `z.int()` and the API
 * document an integer. A parameter given twice is an issue unless its schema is an array.
 */
export function coerceTexts(
  schema: z.ZodObject,
  texts: Readonly<Record<string, string | readonly string[] | undefined>>,
  location: Location,
): Coerced {
  const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const issues: ValidationIssue[] = [];
  for (const [name, given] of Object.entries(texts)) {
    if (given === undefined) continue;
    const declared = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
    const kind = declared ? kindOf(declared) : "string";
    const list = typeof given === "string" ? [given] : given;
    const unstorable = list.map((text) => unstorableIssue(text, [location, name])).find((issue) => issue !== null);
    if (unstorable) {
      issues.push(unstorable);
    } else if (kind === "array") {
      values[name] = list;
    } else if (list.length > 1) {
      issues.push({ loc: [location, name], msg: "The parameter was sent more than once", type: "value_error" });
    } else {
      const result = coerceText(list[0] ?? "", kind);
      if (typeof result === "object") issues.push({ loc: [location, name], ...result });
      else values[name] = result;
    }
  }
  return { values, issues };
}

function coerceText(text: string, kind: string): string | number | boolean | { msg: string; type: string } {
  if (kind === "number") {
    return NUMBER.test(text) && Number.isFinite(Number(text))
      ? Number(text)
      : { msg: "Input should be a valid number", type: "float_parsing" };
  }
  if (kind === "integer") {
    return /^[+-]?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))
      ? Number(text)
      : { msg: "Input should be a valid integer", type: "int_parsing" };
  }
  if (kind === "boolean") {
    const word = text.toLowerCase();
    if (TRUE.includes(word)) return true;
    if (FALSE.includes(word)) return false;
    return { msg: "Input should be a valid boolean", type: "bool_parsing" };
  }
  return text;
}

/** Unwraps defaults, optionals and pipes. */
function kindOf(schema: z.ZodType): string {
  let at: z.ZodType = schema;
  for (;;) {
    if (
      at instanceof z.ZodOptional ||
      at instanceof z.ZodDefault ||
      at instanceof z.ZodNullable ||
      at instanceof z.ZodPrefault
    ) {
      at = at.unwrap() as z.ZodType;
    } else if (at instanceof z.ZodPipe) {
      at = at.in as z.ZodType;
    } else {
      return at instanceof z.ZodNumber && at.isInt ? "integer" : at.type;
    }
  }
}
