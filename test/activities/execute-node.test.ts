import { MockActivityEnvironment } from "@temporalio/testing";
import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { createExecuteChain } from "../../activities/runs/execute-chain.ts";
import { createExecuteNode, type ExecuteNodeDeps } from "../../activities/runs/execute-node.ts";
import { compileFlow } from "../../src/domain/flow/plan/compile.ts";
import type { RunReport } from "../../src/domain/runs/run-report.ts";
import { NO_TRACES } from "../../src/services/runs/run-traces.ts";
import { requestCancel } from "../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, ownDatabase } from "../stores/rows.ts";
import { edges, flow, node } from "../support/flows.ts";

const own = ownDatabase();

const plan = compileFlow(
  flow({
    nodes: [node("in-0", "input"), node("http-0", "http", { url: "https://a.example" }), node("out-0", "output")],
    edges: edges("in-0 > http-0 > out-0"),
  }),
);

it("starts no work for a node that is cancelled while its plan is loaded", async () => {
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
        return { state: "RUNNING", stopped: false };
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

it("a repeated chain, whose first node is recorded, starts no further node of a run to be cancelled", async () => {
  const http = (id: string) => node(id, "http", { url: "https://a.example" });
  const two = compileFlow(
    flow({ nodes: [http("http-0"), http("http-1"), node("out-0", "output")], edges: edges("http-0 > http-1 > out-0") }),
  );
  const tenant = await buildTenant(own.database);
  const run_id = await buildRun(own.database, tenant);
  const nodeAt = (id: string) => two.nodes.find((each) => each.id === id) ?? expect.fail(id);
  const executed = async (): Promise<string[]> => {
    const paths: string[] = [];
    const recorded = async ({ path }: { readonly path: string }) => {
      paths.push(path);
      return { value: { v: null }, executed: false, stopped: false };
    };
    const executeChain = createExecuteChain(recorded, {
      db: own.database,
      blobs: {} as ExecuteNodeDeps["blobs"],
      plans: { find: async () => null, get: async () => ({ plan: two, redact: [], node: nodeAt }) },
      mayContinue: () => true,
    });
    await executeChain({
      run: { ...tenant, run_id, flow_version: 1, temporal_run_id: uuidv7(), started_at: new Date().toISOString() },
      path: "http-0",
      plan_path: "http-0",
      progress: { total_nodes: 3, started_nodes: 1, completed_nodes: 0, skipped_nodes: 0, current_node: "http-0" },
      attempt: 1,
      scope: { nodes: {}, inputs: {}, user_id: null, metadata: {} },
      flush: [],
      chain: ["http-1"],
    });
    return paths;
  };
  expect(await executed()).toEqual(["http-0", "http-1"]);
  await own.database.org(tenant.org_id, (db) => requestCancel(db, run_id, null));
  expect(await executed()).toEqual(["http-0"]);
});
