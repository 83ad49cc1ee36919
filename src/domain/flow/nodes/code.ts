import { z } from "zod";
import { cel, NO_RETRY, ONLY_OUT, type NodeSpec } from "./spec.ts";

/** Longest source of a code node (characters). */
const MAX_CODE_CHARS = 256 * 1024;

export const codeConfig = z.strictObject({
  source: z
    .string()
    .min(1)
    .max(MAX_CODE_CHARS)
    .describe(
      "JavaScript that declares main(args); what main returns is the node's value. No network, files or modules",
    ),
  args: z.record(z.string().min(1).max(128), z.string()).default({}).describe("Name to CEL: what main gets"),
});
export type CodeConfig = z.infer<typeof codeConfig>;

export const codeSpec: NodeSpec<CodeConfig> = {
  description: "Runs JavaScript in a sandbox",
  config: codeConfig,
  execution: () => "activity",
  handles: () => ONLY_OUT,
  expressions: ({ args }) => Object.entries(args).map(([name, source]) => cel(source, "args", name)),
  faults: ({ source }) =>
    /\bmain\b/.test(source)
      ? []
      : [
          {
            path: ["source"],
            severity: "error",
            message: "The source declares no main",
            hint: "Write function main(args) { ... return value; }",
          },
        ],
  retry: NO_RETRY,
  timeout_ms: 10_000,
  io: { output: () => ({}) },
};
