import { z } from "zod";
import { templateWeight } from "../expressions/liquid/liquid.ts";
import type { Execution } from "../kinds.ts";
import { defineNode, liquid, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  template: z.string().describe('Liquid: {{in-0}}, {{nodes["http-0"].body.title}}, {% for doc in doc-0.documents %}'),
});

/** Inline if the text bounds the cost of rendering; otherwise it must not be rendered in the workflow. */
export function executionOfTemplate(source: string): Execution {
  return Number.isFinite(templateWeight(source)) ? "inline" : "local";
}

export const templateSpec = defineNode({
  title: "Template",
  group: "data",
  icon: "text",
  description: "Text made from the values of other nodes",
  example: { template: "Good morning, {{ in-0 }}!" },
  config,
  execution: ({ template }) => executionOfTemplate(template),
  expressions: ({ template }) => [liquid(template, "template")],
  remembers: remembersNothing,
  io: { output: () => ({ type: "string" }) },
});
