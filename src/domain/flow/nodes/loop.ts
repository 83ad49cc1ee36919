import { z } from "zod";
import { cel, defineNode, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  while: z.string().describe("CEL, evaluated before each round; sees last and index"),
  max_iterations: z.int().min(1).default(100).describe("Rounds the loop has at most"),
  on_exhausted: z
    .enum(["fail", "continue"])
    .default("fail")
    .describe("What happens when `while` still holds after `max_iterations` rounds: the node fails, or goes on"),
  initial: z.string().exactOptional().describe("CEL: what `last` is in the first round; null without it"),
});

export const loopSpec = defineNode({
  description: "Runs a nested flow again and again; inside, expressions see last and index",
  config,
  nested: true,
  effect: true,
  execution: () => "workflow",
  expressions: (config) => [
    cel(config.while, "while"),
    ...(config.initial === undefined ? [] : [cel(config.initial, "initial")]),
  ],
  faults: ({ max_iterations: rounds }, limits) =>
    rounds > limits.max_iterations
      ? [
          {
            path: ["max_iterations"],
            severity: "error",
            message: `A loop may have ${limits.max_iterations} iterations at most`,
          },
        ]
      : [],
  remembers: remembersNothing,
  io: { output: () => ({}) },
});
