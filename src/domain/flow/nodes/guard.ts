import { z } from "zod";
import { cel, defineNode, liquid, remembersNothing } from "./spec.ts";
import { executionOfTemplate } from "./template.ts";

const config = z.strictObject({
  check: z.string().describe("CEL condition; the node fails if it is false"),
  message: z.string().describe("Liquid template of the error message"),
});

export const guardSpec = defineNode({
  title: "Guard",
  group: "logic",
  icon: "shield",
  description: "Fails unless a condition is true",
  example: { check: 'size(nodes["in-0"]) < 2000', message: "The question is too long." },
  config,
  effect: true,
  execution: ({ message }) => executionOfTemplate(message),
  expressions: ({ check, message }) => [cel(check, "check"), liquid(message, "message")],
  remembers: remembersNothing,
  io: { output: () => ({ const: true }) },
});
