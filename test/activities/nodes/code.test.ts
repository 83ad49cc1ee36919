import { beforeAll, describe, expect, it } from "vitest";
import { createCodeExecutor } from "../../../activities/nodes/code.ts";
import type { NodeExecution, NodeOutcome } from "../../../activities/nodes/executor.ts";
import type { CodeConfig } from "../../../src/domain/flow/nodes/code.ts";
import type { Scope } from "../../../src/domain/flow/scope.ts";
import { createEvaluation } from "../../../src/platform/evaluation/evaluation.ts";
import { createSandbox, type Sandbox } from "../../../src/platform/sandbox/sandbox.ts";

const scope: Scope = {
  nodes: { "in-0": "Ada", "http-0": { status: 200, body: [{ n: 1 }, { n: 2 }] } },
  inputs: { "in-0": "Ada" },
  run: { id: "run-1", user_id: "ada-1", metadata: {} },
};

const evaluation = createEvaluation();
let sandbox: Sandbox;
/** Limits code to a second; the other sandbox allows a minute, so that a busy machine does not change the result. */
let hasty: Sandbox;

beforeAll(async () => {
  sandbox = createSandbox({ size: 2 });
  hasty = createSandbox({ size: 1, timeoutMs: 1000 });
  await Promise.all([sandbox.warm(), hasty.warm()]);
  return () => Promise.all([sandbox.close(), hasty.close(), evaluation.close()]);
});

async function execute(
  config: CodeConfig,
  more: Partial<NodeExecution<CodeConfig>> = {},
  within = sandbox,
): Promise<NodeOutcome> {
  return await createCodeExecutor({ sandbox: within, evaluation })({
    org_id: "018f0000-0000-7000-8000-000000000001",
    project_id: "project",
    flow_version: 1,
    run_id: "run-1",
    path: "code-0",
    attempt: 1,
    scope,
    idempotency_key: "run-1:code-0",
    signal: new AbortController().signal,
    config,
    ...more,
  });
}

describe("code node", () => {
  it("passes the evaluated arguments to main and returns its result", async () => {
    const source =
      "function main({ name, rows }) { console.log('rows', rows.length); return { name, sum: rows.reduce((s, r) => s + r.n, 0) }; }";
    const args = { name: 'nodes["in-0"] + "!"', rows: 'nodes["http-0"].body' };
    expect(await execute({ source, args })).toEqual({
      output: { name: "Ada!", sum: 3 },
      inputs: { name: "Ada!", rows: [{ n: 1 }, { n: 2 }] },
      logs: ["rows 2"],
    });
  });

  it("fails without running the code if an argument cannot be evaluated", async () => {
    const config = { source: "function main() { for (;;); }", args: { x: 'nodes["http-0"].missing.further' } };
    await expect(execute(config)).rejects.toMatchObject({ name: "NodeFailure", code: "expression_failed" });
  });

  it.each([
    ["code_failed", "function main() {\n  return nothing;\n}", "ReferenceError: 'nothing' is not defined (line 2)"],
    ["code_failed", "function main( {", /^SyntaxError: .* \(line 1\)$/],
    ["code_memory", "function main() { return new ArrayBuffer(1e9) }", "The code needs more than 64 MiB of memory."],
    ["code_output_invalid", "function main() { return () => 1 }", "main returned a value that JSON cannot represent."],
    ["value_too_large", "function main() { return 'x'.repeat(27e6) }", "The result is longer than 25 MiB as JSON."],
  ])("fails with %s and a message for the code's author", async (code, source, message) => {
    await expect(execute({ source, args: {} })).rejects.toMatchObject({
      name: "NodeFailure",
      code,
      message: typeof message === "string" ? message : expect.stringMatching(message),
      retryable: false,
    });
  });

  it("fails with code_timeout when its time limit is reached", async () => {
    await expect(execute({ source: "function main() { for (;;); }", args: {} }, {}, hasty)).rejects.toMatchObject({
      name: "NodeFailure",
      code: "code_timeout",
      message: "The code ran longer than 1000 ms.",
      retryable: false,
    });
  });

  it("stops when the abort signal fires, with the signal's reason", async () => {
    const stop = new AbortController();
    const reason = new Error("node_timeout");
    setTimeout(() => stop.abort(reason), 100);
    await expect(execute({ source: "function main() { for (;;); }", args: {} }, { signal: stop.signal })).rejects.toBe(
      reason,
    );
  });

  it("proto-pollution: passes an argument named __proto__ as an ordinary argument", async () => {
    const args = JSON.parse('{"__proto__":"{\\"polluted\\": 1}"}') as CodeConfig["args"];
    const source =
      "function main(args) { return [Object.keys(args), args.polluted === undefined, args['__proto__']]; }";
    expect((await execute({ source, args })).output).toEqual([["__proto__"], true, { polluted: 1 }]);
    expect({}).not.toHaveProperty("polluted");
  });

  it("double-render: treats user input as data, not as code", async () => {
    const hostile = '{{7*7}} ${7*7} "; process.exit(); //';
    const source = "function main({ text }) { return text; }";
    const outcome = await execute(
      { source, args: { text: 'nodes["in-0"]' } },
      { scope: { ...scope, nodes: { "in-0": hostile } } },
    );
    expect(outcome.output).toBe(hostile);
  });
});
