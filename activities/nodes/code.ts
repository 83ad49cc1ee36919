import type { CodeConfig } from "../../src/domain/flow/nodes/code.ts";
import { requireStorable } from "../../src/domain/storable.ts";
import type { Sandbox } from "../../src/platform/sandbox/sandbox.ts";
import type { Parts } from "../../src/services/parts.ts";
import type { NodeExecutor } from "./executor.ts";

export interface CodeDeps extends Parts<"evaluation"> {
  readonly sandbox: Sandbox;
}

/** Executes `code` nodes: arguments by CEL, then the script in the sandbox. Fails like Sandbox.run and CEL. */
export function createCodeExecutor({ sandbox, evaluation }: CodeDeps): NodeExecutor<CodeConfig> {
  return async function executeCode({ org_id, config, scope, signal }) {
    const names = Object.keys(config.args);
    const sources = Object.values(config.args).map((source) => ({ language: "cel" as const, source }));
    const values = await evaluation.sources(org_id, sources, scope);
    // Built from entries, so that an argument called __proto__ stays an argument.
    const args = Object.fromEntries(names.map((name, at) => [name, values[at] ?? null]));
    requireStorable(args, "The arguments");
    const { value, logs } = await sandbox.run({ orgId: org_id, source: config.source, args, signal });
    requireStorable(value, "What main returned");
    return { output: value, inputs: args, logs };
  };
}
