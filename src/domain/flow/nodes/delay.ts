import { z } from "zod";
import { cel, defineNode, remembersNothing } from "./spec.ts";

/** Longest delay: the longest time a run may take (seconds). */
const MAX_DELAY_SECONDS = 2_592_000;

const config = z
  .strictObject({
    seconds: z.number().min(0).max(MAX_DELAY_SECONDS).exactOptional(),
    until: z.string().exactOptional().describe("CEL expression that returns an RFC 3339 time"),
  })
  .refine(({ seconds, until }) => (seconds === undefined) !== (until === undefined), "Set either seconds or until");

export const delaySpec = defineNode({
  title: "Delay",
  group: "logic",
  icon: "clock",
  description: "Waits; returns the time it finished",
  example: { seconds: 60 },
  config,
  effect: true,
  execution: () => "workflow",
  expressions: ({ until }) => (until === undefined ? [] : [cel(until, "until")]),
  remembers: remembersNothing,
  io: { output: () => ({ type: "string", format: "date-time" }) },
});
