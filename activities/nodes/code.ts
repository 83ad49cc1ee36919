import { evaluateCel } from "../../src/domain/flow/expressions/cel/cel.ts";
import type { CodeConfig } from "../../src/domain/flow/nodes/code.ts";
import { requireStorable } from "../../src/domain/storable.ts";
import type { Sandbox } from "../../src/platform/sandbox/sandbox.ts";
import type { NodeExecutor } from "./executor.ts";

/** Executes `code` nodes: arguments by CEL, then the script in the sandbox. Failures are those of Sandbox.run and CEL. */
export function createCodeExecutor({ sandbox }: { readonly sandbox: Sandbox }): NodeExecutor<CodeConfig> {
  return async function executeCode({ org_id, config, scope, signal }) {
    // Built from entries: an argument called __proto__ is an argument.
    const args = Object.fromEntries(
      Object.entries(config.args).map(([name, expression]) => [name, evaluateCel(expression, scope)]),
    );
    requireStorable(args, "The arguments");
    const { value, logs } = await sandbox.run({ orgId: org_id, source: config.source, args, signal });
    requireStorable(value, "What main returned");
    return { output: value, inputs: args, logs };
  };
}
