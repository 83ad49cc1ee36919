import { z } from "zod";
import { cel, defineNode, remembersNothing } from "./spec.ts";

/** Longest delay: the longest time a run may take (seconds). */
const MAX_DELAY_SECONDS = 2_592_000;

const config = z
  .strictObject({
    seconds: z.number().min(0).max(MAX_DELAY_SECONDS).exactOptional(),
    until: z.string().exactOptional().describe("CEL that yields an RFC 3339 time"),
  })
  .refine(({ seconds, until }) => (seconds === undefined) !== (until === undefined), "Give either seconds or until");

export const delaySpec = defineNode({
  description: "Waits; its value is the time it ended",
  config,
  effect: true,
  execution: () => "workflow",
  expressions: ({ until }) => (until === undefined ? [] : [cel(until, "until")]),
  remembers: remembersNothing,
  io: { output: () => ({ type: "string", format: "date-time" }) },
});
