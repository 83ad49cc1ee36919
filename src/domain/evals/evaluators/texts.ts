import { distance } from "fastest-levenshtein";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { compileRegex } from "../../flow/expressions/regex.ts";
import type { Json } from "../../json.ts";
import { listUpTo, textUpTo } from "../../schema-parts.ts";
import {
  defineEvaluator,
  EvaluatorError,
  requireExpected,
  requireOutput,
  textOf,
  type EvaluatorTemplate,
} from "./kind.ts";

const textOptions = {
  ignore_case: z.boolean().default(false),
  trim: z.boolean().default(true).describe("Ignores spaces at both ends."),
};
type TextOptions = z.output<z.ZodObject<typeof textOptions>>;

function plainText(value: Json, { ignore_case, trim }: TextOptions): string {
  const text = textOf(value);
  const trimmed = trim ? text.trim() : text;
  return ignore_case ? trimmed.toLowerCase() : trimmed;
}

/** The text to look for in an output. Throws for an empty one, which every output contains. */
function wantedText(value: Json, options: TextOptions): string {
  const text = plainText(value, options);
  if (text !== "") return text;
  throw new EvaluatorError("no_expected_output", "The expected text is empty: every output would match.");
}

export const exactMatch = defineEvaluator({
  description: "The output equals the expected one: the same text, or the same JSON in any order of fields",
  config: z.strictObject({
    ...textOptions,
    value: z.json().optional().describe("Text or JSON to compare with. Default: the expected output."),
  }),
  templates: [{ name: "Exact match", description: "The output equals the row's expected output", config: {} }],
  find(options, subject) {
    const [output, expected] = [requireOutput(subject), requireExpected(subject, options.value)];
    const areTexts = typeof output === "string" || typeof expected === "string";
    return {
      value: areTexts
        ? plainText(output, options) === plainText(expected, options)
        : isDeepStrictEqual(output, expected),
    };
  },
});

export const contains = defineEvaluator({
  description: "The output contains the given texts: all of them, or at least one",
  config: z.strictObject({
    ...textOptions,
    values: listUpTo(100, textUpTo(10_000))
      .optional()
      .describe("Default: the expected output; if that is a list, each of its items."),
    mode: z.enum(["all", "any"]).default("all"),
  }),
  templates: [
    { name: "Contains", description: "The output contains the row's expected output", config: { ignore_case: true } },
    {
      name: "Mentions one of",
      description: "The output contains one of several words",
      config: { values: ["sorry", "apologise"], mode: "any", ignore_case: true },
    },
  ],
  find(options, subject) {
    const text = plainText(requireOutput(subject), options);
    const expected = requireExpected(subject, options.values);
    const given = Array.isArray(expected) ? (expected as Json[]) : [expected];
    // An empty list looks for the empty text, which is rejected.
    const wanted = (given.length === 0 ? [""] : given).map((each) => wantedText(each, options));
    const missing = wanted.filter((each) => !text.includes(each));
    const value = options.mode === "all" ? missing.length === 0 : missing.length < wanted.length;
    const shown = missing.slice(0, 5).map((each) => JSON.stringify(each.slice(0, 100)));
    return value ? { value } : { value, reasoning: `Not found: ${shown.join(", ")}` };
  },
});

/** An evaluator type that compares the beginning or the end of a text. */
function edgeKind(description: string, template: EvaluatorTemplate, holds: (text: string, wanted: string) => boolean) {
  return defineEvaluator({
    description,
    config: z.strictObject({
      ...textOptions,
      value: textUpTo(100_000).optional().describe("Text to look for. Default: the expected output."),
    }),
    templates: [template],
    find: (options, subject) => ({
      value: holds(
        plainText(requireOutput(subject), options),
        wantedText(requireExpected(subject, options.value), options),
      ),
    }),
  });
}

export const startsWith = edgeKind(
  "The output begins with a text",
  { name: "Starts with", description: "The output starts with the row's expected output", config: {} },
  (text, wanted) => text.startsWith(wanted),
);

export const endsWith = edgeKind(
  "The output ends with a text",
  { name: "Ends with", description: "The output ends with the row's expected output", config: {} },
  (text, wanted) => text.endsWith(wanted),
);

export const regex = defineEvaluator({
  description: "The output matches a regular expression",
  config: z.strictObject({
    pattern: textUpTo(2000).describe("RE2 syntax; it can match anywhere in the output."),
    flags: z
      .string()
      .regex(/^[imsu]{0,4}$/, "Only the flags i, m, s and u are allowed")
      .default(""),
  }),
  templates: [
    {
      name: "Has a date",
      description: "The output contains a date such as 2026-01-31",
      config: { pattern: "\\d{4}-\\d{2}-\\d{2}" },
    },
  ],
  faults({ pattern, flags }) {
    const compiled = compileRegex(pattern, flags);
    return compiled.ok ? [] : [{ path: ["pattern"], message: compiled.message }];
  },
  find({ pattern, flags }, subject) {
    const compiled = compileRegex(pattern, flags);
    if (!compiled.ok) throw new EvaluatorError("invalid_config", compiled.message);
    return { value: compiled.regex.test(textOf(requireOutput(subject))) };
  },
});

/** Longest text (characters), because the work grows with the product of both lengths. */
const MAX_CHARS = 50_000;

export const levenshtein = defineEvaluator({
  description: "Similarity to the expected text: 1 minus the edit distance divided by the length of the longer text",
  config: z.strictObject({
    ...textOptions,
    value: z.string().max(MAX_CHARS).optional().describe("Text to compare with. Default: the expected output."),
  }),
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 0.8 },
  templates: [
    {
      name: "Almost the same text",
      description: "Similarity by edits of single characters",
      config: { ignore_case: true },
    },
  ],
  find(options, subject) {
    const output = plainText(requireOutput(subject), options);
    const expected = plainText(requireExpected(subject, options.value), options);
    const message = `Texts can have at most ${MAX_CHARS} characters for this comparison.`;
    if (Math.max(output.length, expected.length) > 2 * MAX_CHARS) throw new EvaluatorError("text_too_long", message);
    const [a, b] = unitsOf(output, expected);
    const longest = Math.max(a.length, b.length);
    if (longest > MAX_CHARS) throw new EvaluatorError("text_too_long", message);
    return { value: longest === 0 ? 1 : 1 - distance(a, b) / longest };
  },
});

/** Maps each character of two texts to one UTF-16 unit, the same for equal characters, so that an emoji counts once. */
function unitsOf(...texts: [string, string]): [string, string] {
  if (!texts.some((text) => /[\ud800-\udfff]/.test(text))) return texts;
  const units = new Map<string, string>();
  const [a = "", b = ""] = texts.map((text) =>
    Array.from(text, (character) => {
      const unit = units.get(character) ?? String.fromCharCode(units.size);
      units.set(character, unit);
      return unit;
    }).join(""),
  );
  if (units.size > 0xffff)
    throw new EvaluatorError("text_too_long", "The texts have too many different characters to compare.");
  return [a, b];
}

/** Scored by an embedding model, outside of this process. */
export const similarity = defineEvaluator({
  description: "Similarity in meaning to the expected output: the cosine of their embeddings",
  config: z.strictObject({
    value: textUpTo(100_000).optional().describe("Text to compare with. Default: the expected output."),
    embedding_model: textUpTo(200)
      .default("local")
      .describe("Embedding model: `local`, or a model of the installation's embeddings endpoint."),
  }),
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 0.8 },
  templates: [{ name: "Same meaning", description: "Similarity in meaning by the local embedding model", config: {} }],
});
