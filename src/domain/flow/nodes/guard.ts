import { z } from "zod";
import { cel, liquid, NO_RETRY, ONLY_OUT, remembersNothing, type NodeSpec } from "./spec.ts";
import { executionOfTemplate } from "./template.ts";

export const guardConfig = z.strictObject({
  check: z.string().describe("CEL; where it does not hold, the node fails"),
  message: z.string().describe("Liquid: what the failure says"),
});
export type GuardConfig = z.infer<typeof guardConfig>;

export const guardSpec: NodeSpec<GuardConfig> = {
  description: "Fails unless a condition holds",
  config: guardConfig,
  effect: true,
  execution: ({ message }) => executionOfTemplate(message),
  handles: () => ONLY_OUT,
  expressions: ({ check, message }) => [cel(check, "check"), liquid(message, "message")],
  remembers: remembersNothing,
  retry: NO_RETRY,
  io: { output: () => ({ const: true }) },
};
