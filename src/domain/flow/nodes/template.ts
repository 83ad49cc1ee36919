import { z } from "zod";
import { templateWeight } from "../expressions/liquid/liquid.ts";
import type { Execution } from "../kinds.ts";
import { defineNode, liquid, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  template: z.string().describe('Liquid: {{in-0}}, {{nodes["http-0"].body.title}}, {% for doc in doc-0.documents %}'),
});

/** Inline where the text sets a bound on what rendering costs; otherwise it must not happen inside the workflow. */
export function executionOfTemplate(source: string): Execution {
  return Number.isFinite(templateWeight(source)) ? "inline" : "local";
}

export const templateSpec = defineNode({
  description: "Text made from other nodes' values",
  config,
  execution: ({ template }) => executionOfTemplate(template),
  expressions: ({ template }) => [liquid(template, "template")],
  remembers: remembersNothing,
  io: { output: () => ({ type: "string" }) },
});
