import { MockActivityEnvironment } from "@temporalio/testing";
import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { createExecuteNode } from "../../activities/runs/execute-node.ts";
import type { ExecuteNodeDeps } from "../../activities/runs/execute-node.ts";
import { compileFlow } from "../../src/domain/flow/plan/compile.ts";
import type { RunReport } from "../../src/domain/runs/run-report.ts";
import { NO_TRACES } from "../../src/services/runs/run-traces.ts";
import { edges, flow, node } from "../support/flows.ts";

const plan = compileFlow(
  flow({
    nodes: [node("in-0", "input"), node("http-0", "http", { url: "https://a.example" }), node("out-0", "output")],
    edges: edges("in-0 > http-0 > out-0"),
  }),
);

it("starts no work of a node that is cancelled while its plan is read", async () => {
  const environment = new MockActivityEnvironment();
  const calls: string[] = [];
  const written: RunReport[] = [];
  const executeNode = createExecuteNode({
    blobs: {} as ExecuteNodeDeps["blobs"],
    plans: {
      find: async () => null,
      async get() {
        environment.cancel();
        const found = plan.nodes.find(({ id }) => id === "http-0");
        if (!found) throw new Error("the flow has no such node");
        return { plan, redact: [], node: () => found };
      },
    },
    recorder: {
      earlier: async () => null,
      async record(report) {
        written.push(report);
        return "RUNNING";
      },
    },
    traces: NO_TRACES,
    executors: {
      async http() {
        calls.push("http");
        return { output: null };
      },
    } as unknown as ExecuteNodeDeps["executors"],
  });
  const ids = { org_id: uuidv7(), run_id: uuidv7(), project_id: uuidv7(), flow_version: 1 };
  const executed = environment.run(executeNode, {
    run: { ...ids, temporal_run_id: uuidv7(), started_at: new Date().toISOString() },
    path: "http-0",
    plan_path: "http-0",
    progress: { total_nodes: 3, started_nodes: 2, completed_nodes: 1, skipped_nodes: 0, current_node: "http-0" },
    attempt: 1,
    scope: { nodes: {}, inputs: {}, user_id: null, metadata: {} },
    flush: [],
  });
  await expect(executed).rejects.toMatchObject({ name: "CancelledFailure" });
  expect([calls, written]).toEqual([[], []]);
});
