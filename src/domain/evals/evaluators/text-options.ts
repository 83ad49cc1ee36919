import { z } from "zod";
import type { Json } from "../../json.ts";
import { EvaluatorError, requireExpected, requireOutput, textOf } from "./kind.ts";
import type { EvaluatorKind, EvaluatorTemplate, Subject } from "./kind.ts";

/** How texts are compared. */
export const textOptions = {
  ignore_case: z.boolean().default(false),
  trim: z.boolean().default(true).describe("Ignores spaces at both ends."),
};
interface TextOptions {
  readonly ignore_case: boolean;
  readonly trim: boolean;
}

export function plainText(value: Json, { ignore_case, trim }: TextOptions): string {
  const text = textOf(value);
  const trimmed = trim ? text.trim() : text;
  return ignore_case ? trimmed.toLowerCase() : trimmed;
}

/** The text to look for in an output. Throws for an empty one, which every output contains. */
export function wantedText(value: Json, options: TextOptions): string {
  const text = plainText(value, options);
  if (text !== "") return text;
  throw new EvaluatorError("no_expected_output", "The expected text is empty: every output would match.");
}

/** An evaluator type that compares the beginning or the end of a text. */
export function edgeKind(
  description: string,
  template: EvaluatorTemplate,
  holds: (text: string, wanted: string) => boolean,
): EvaluatorKind<TextOptions & { readonly value?: string | undefined }> {
  const config = z.strictObject({
    ...textOptions,
    value: z.string().min(1).max(100_000).optional().describe("Text to look for. Default: the expected output."),
  });
  return {
    description,
    config,
    score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
    templates: [template],
    find: (options, subject: Subject) => ({
      value: holds(
        plainText(requireOutput(subject), options),
        wantedText(requireExpected(subject, options.value), options),
      ),
    }),
  };
}
