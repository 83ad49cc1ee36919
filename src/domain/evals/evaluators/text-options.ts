import { z } from "zod";
import type { Json } from "../../json.ts";
import { requireExpected, requireOutput, textOf } from "./kind.ts";
import type { EvaluatorKind, EvaluatorTemplate, Subject } from "./kind.ts";

/** How texts are compared. */
export const textOptions = {
  ignore_case: z.boolean().default(false),
  trim: z.boolean().default(true).describe("Leaves space at both ends out of account."),
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

/** A kind that compares the beginning or the end of a text. */
export function edgeKind(
  description: string,
  template: EvaluatorTemplate,
  holds: (text: string, wanted: string) => boolean,
): EvaluatorKind<TextOptions & { readonly value?: string | undefined }> {
  const config = z.strictObject({
    ...textOptions,
    value: z.string().min(1).max(100_000).optional().describe("Default: the expected output."),
  });
  return {
    description,
    config,
    score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
    templates: [template],
    find: (options, subject: Subject) => ({
      value: holds(
        plainText(requireOutput(subject), options),
        plainText(requireExpected(subject, options.value), options),
      ),
    }),
  };
}
