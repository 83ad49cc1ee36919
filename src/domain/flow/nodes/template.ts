import { z } from "zod";
import { templateWeight } from "../expressions/liquid/liquid.ts";
import type { Execution } from "../kinds.ts";
import { liquid, NO_RETRY, ONLY_OUT, type NodeSpec, remembersNothing } from "./spec.ts";

export const templateConfig = z.strictObject({
  template: z.string().describe('Liquid: {{in-0}}, {{nodes["http-0"].body.title}}, {% for doc in doc-0.documents %}'),
});
export type TemplateConfig = z.infer<typeof templateConfig>;

/** Inline where the text sets a bound on what rendering costs; otherwise it must not happen inside the workflow. */
export function executionOfTemplate(source: string): Execution {
  return Number.isFinite(templateWeight(source)) ? "inline" : "local";
}

export const templateSpec: NodeSpec<TemplateConfig> = {
  description: "Text made from other nodes' values",
  config: templateConfig,
  execution: ({ template }) => executionOfTemplate(template),
  handles: () => ONLY_OUT,
  expressions: ({ template }) => [liquid(template, "template")],
  remembers: remembersNothing,
  retry: NO_RETRY,
  io: { output: () => ({ type: "string" }) },
};
