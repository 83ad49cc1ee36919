import { z } from "zod";
import { cel, defineNode, remembersNothing, type ConfigFault } from "./spec.ts";

const config = z.strictObject({
  while: z.string().describe("CEL condition, evaluated before each iteration; can use last and index"),
  max_iterations: z.int().min(1).default(100).describe("Maximum number of iterations"),
  on_exhausted: z
    .enum(["fail", "continue"])
    .default("fail")
    .describe(
      "What happens if `while` is still true after `max_iterations`: `fail` fails the node, `continue` completes it",
    ),
  initial: z.string().exactOptional().describe("CEL expression for `last` in the first iteration; null if omitted"),
});

const tooManyRounds = (most: number): ConfigFault => ({
  path: ["max_iterations"],
  severity: "error",
  message: `A loop can have at most ${most} iterations`,
});

export const loopSpec = defineNode({
  title: "Loop",
  group: "logic",
  icon: "loop",
  description: "Repeats a nested flow while a condition is true; expressions inside can use last and index",
  example: { while: "index < 3", initial: '""' },
  advanced: ["on_exhausted", "initial"],
  config,
  nested: true,
  inside: ["last", "index"],
  effect: true,
  execution: () => "workflow",
  expressions: (config) => [
    cel(config.while, "while"),
    ...(config.initial === undefined ? [] : [cel(config.initial, "initial")]),
  ],
  faults: ({ max_iterations: rounds }, limits) =>
    rounds <= limits.max_iterations ? [] : [tooManyRounds(limits.max_iterations)],
  remembers: remembersNothing,
  io: {
    output: () => ({}),
    // Without an iteration, the value is the initial one.
    repeated: ({ initial }, iteration, schemaOf) => ({
      anyOf: [iteration, initial === undefined ? { type: "null" } : schemaOf(initial)],
    }),
  },
});
