import { z } from "zod";
import { cel, defineNode, liquid, remembersNothing } from "./spec.ts";
import { executionOfTemplate } from "./template.ts";

const config = z.strictObject({
  check: z.string().describe("CEL; where it does not hold, the node fails"),
  message: z.string().describe("Liquid: what the failure says"),
});

export const guardSpec = defineNode({
  description: "Fails unless a condition holds",
  config,
  effect: true,
  execution: ({ message }) => executionOfTemplate(message),
  expressions: ({ check, message }) => [cel(check, "check"), liquid(message, "message")],
  remembers: remembersNothing,
  io: { output: () => ({ const: true }) },
});
