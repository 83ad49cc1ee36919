import { z } from "zod";
import { cel, NO_RETRY, ONLY_OUT, type NodeSpec, remembersNothing } from "./spec.ts";

/** Longest delay: the longest time a run may take (seconds). */
const MAX_DELAY_SECONDS = 2_592_000;

export const delayConfig = z
  .strictObject({
    seconds: z.number().min(0).max(MAX_DELAY_SECONDS).exactOptional(),
    until: z.string().exactOptional().describe("CEL that yields an RFC 3339 time"),
  })
  .refine(({ seconds, until }) => (seconds === undefined) !== (until === undefined), "Give either seconds or until");
export type DelayConfig = z.infer<typeof delayConfig>;

export const delaySpec: NodeSpec<DelayConfig> = {
  description: "Waits; its value is the time it ended",
  config: delayConfig,
  effect: true,
  execution: () => "workflow",
  handles: () => ONLY_OUT,
  expressions: ({ until }) => (until === undefined ? [] : [cel(until, "until")]),
  remembers: remembersNothing,
  retry: NO_RETRY,
  io: { output: () => ({ type: "string", format: "date-time" }) },
};
