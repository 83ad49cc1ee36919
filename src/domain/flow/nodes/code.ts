import { z } from "zod";
import { textUpTo } from "../../schema-parts.ts";
import { syntaxFaultOf } from "./code-syntax.ts";
import { cel, defineNode, remembersNothing, type ConfigFault } from "./spec.ts";

/** Longest source of a code node (characters). */
const MAX_CODE_CHARS = 256 * 1024;

const config = z.strictObject({
  source: textUpTo(MAX_CODE_CHARS)
    .describe("JavaScript that declares main(args); its return value is the node's value. No network, files or modules")
    .meta({ "x-language": "javascript" }),
  args: z.record(textUpTo(128), z.string()).default({}).describe("Arguments of main: name to CEL expression"),
});
export type CodeConfig = z.infer<typeof config>;

function faultsOf(source: string): readonly ConfigFault[] {
  const place = { path: ["source"], severity: "error" } as const;
  const fault = syntaxFaultOf(source);
  if (fault) {
    const hint =
      "The sandbox runs JavaScript (ES2023) as a script: import, export and top-level await are not available";
    return [{ ...place, code: "invalid_code", message: `Line ${fault.line}: ${fault.message}`, hint }];
  }
  if (/\bmain\b/.test(source)) return [];
  const hint = "Write function main(args) { ... return value; }";
  return [{ ...place, message: "The source must define a function named main", hint }];
}

export const codeSpec = defineNode({
  title: "Code",
  group: "data",
  icon: "code",
  description: "Runs JavaScript in a sandbox",
  example: { source: "function main({ text }) { return text.split(/\\s+/).length; }", args: { text: 'nodes["in-0"]' } },
  config,
  execution: () => "activity",
  expressions: ({ args }) => Object.entries(args).map(([name, source]) => cel(source, "args", name)),
  faults: ({ source }) => faultsOf(source),
  remembers: remembersNothing,
  timeout_ms: 10_000,
  io: { output: () => ({}) },
});
