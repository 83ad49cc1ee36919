import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { flow, nested, openBench } from "../engine/support.ts";
import type { Bench } from "../engine/support.ts";
import { decoded, inClear, textOf, withTemporal } from "../support/histories.ts";
import type { WorkflowHistory } from "../support/histories.ts";
import { startHttpTarget } from "../support/http-target.ts";
import type { HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { startService } from "../support/service.ts";
import type { OwnService } from "../support/service.ts";
import { engineScenarios } from "../workflows/recorded-scenarios.ts";

// The other tests of flows look for what is in clear text in the histories of their own runs; see test/support/replay-runs.ts.

/** Planted wherever a caller gives a value. */
const MARKER = "planted-value-6fd1c0";

let own: OwnService;
let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  target = await startHttpTarget();
  own = await startService({ env: { LOG_LEVEL: "debug", MILLRACE_SEAL_BLOBS: "on" } });
  bench = await openBench(own);
});
afterAll(async () => {
  await own?.close();
  await target?.close();
});

const out = { id: "out-0", type: "output" };
const inputs = { "in-0": MARKER };

async function made(path: string, body: object | FormData): Promise<Record<string, string>> {
  const answer = await bench.api.post(path, body);
  expect([200, 201, 202], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body as Record<string, string>;
}

/** Runs of every kind of node, and the ways they end, each with the marker in it. */
async function runFlows(): Promise<void> {
  const echo = await bench.deploy(flow([{ id: "in-0", type: "input" }, out], ["in-0>out-0"]));
  const map = {
    items: '[nodes["in-0"]]',
    flow: nested([{ id: "o", type: "output", config: { value: "{{item}}" } }], []),
  };
  const kinds = flow(
    [
      { id: "in-0", type: "input" },
      { id: "tpl-0", type: "template", config: { template: "{{in-0}}!" } },
      { id: "code-0", type: "code", config: { source: "function main(a) { return a }", args: { a: "nodes['in-0']" } } },
      { id: "http-0", type: "http", config: { method: "POST", url: `${target.url}/echo`, body: { a: "{{in-0}}" } } },
      { id: "map-0", type: "map", config: map },
      { id: "flow-0", type: "subflow", config: { project_id: echo, inputs: { "in-0": "nodes['in-0']" } } },
      { id: "approval-0", type: "approval", config: { message: "{{in-0}}?" } },
      out,
    ],
    [
      "in-0>tpl-0",
      "in-0>code-0",
      "in-0>http-0",
      "in-0>map-0",
      "in-0>flow-0",
      "tpl-0>approval-0",
      "approval-0:approve>out-0",
    ],
  );
  const { run_id } = await bench.start(await bench.deploy(kinds), inputs);
  const { pauses } = await bench.until(run_id, "PAUSED");
  const [pause] = pauses;
  const data = { note: MARKER };
  await bench.api.post(`/v2/runs/${run_id}/resume`, { pause_id: pause?.pause_id, action: "approve", data });
  expect((await bench.until(run_id)).state).toBe("COMPLETED");

  const guard = { id: "guard-0", type: "guard", config: { check: "false", message: "no: {{in-0}}" } };
  const code = { id: "guard-0", type: "code", config: { source: `function main() { throw new Error("${MARKER}") }` } };
  for (const failing of [guard, code])
    await bench.run(flow([{ id: "in-0", type: "input" }, failing, out], ["in-0>guard-0", "guard-0>out-0"]), inputs);

  const delay = { id: "delay-0", type: "delay", config: { seconds: 60 } };
  const slow = await bench.deploy(flow([{ id: "in-0", type: "input" }, delay, out], ["in-0>delay-0", "delay-0>out-0"]));
  for (const mode of ["graceful", "terminate"]) {
    const { run_id: id } = await bench.start(slow, inputs);
    await bench.until(id, "RUNNING");
    await bench.api.post(`/v2/runs/${id}/cancel`, { reason: MARKER, mode });
    await bench.until(id);
  }
  for (const { definition, meanwhile, ...rest } of engineScenarios(target.url)) {
    const scenario = typeof definition === "function" ? await definition(bench) : definition;
    const { run_id: id } = await bench.start(await bench.deploy(scenario), rest.inputs);
    await meanwhile?.(bench, id);
    await bench.until(id);
  }
}

/** What workflows do beside runs of flows. */
async function runJobs(): Promise<void> {
  await made("/v2/providers/http/actions/request/run", {
    inputs: { method: "POST", url: `${target.url}/echo`, body: { note: MARKER } },
  });
  const project_id = await bench.deploy(flow([{ id: "in-0", type: "input" }, out], ["in-0>out-0"]));
  const { dataset_id } = await made("/v2/evals/datasets", { name: MARKER });
  const { import_id = "" } = await made(`/v2/evals/datasets/${dataset_id}/imports`, {
    source: { type: "csv", text: `name\n${MARKER}\n` },
    mapping: { inputs: { "in-0": "name" } },
  });
  await eventually("the import has ended", async () => {
    const { body } = await bench.api.get(`/v2/evals/datasets/${dataset_id}/imports/${import_id}`);
    return body.status === "completed";
  });
  const { evaluator_id } = await made("/v2/evals/evaluators", { name: MARKER, type: "exact_match" });
  const experiment = { name: MARKER, project_id, dataset_id, evaluator_ids: [evaluator_id] };
  const { experiment_id } = await made("/v2/evals/experiments", experiment);
  await made(`/v2/evals/experiments/${experiment_id}/jobs`, { kind: "run" });
  await eventually("the experiment has ended", async () => {
    const { body } = await bench.api.get(`/v2/evals/experiments/${experiment_id}`);
    return body.state === "COMPLETED";
  });
  const form = new FormData();
  form.set("file", new File([`# ${MARKER}`], `${MARKER}.md`));
  const reading = await bench.deploy(flow([{ id: "files-0", type: "files" }, out], ["files-0>out-0"]));
  const query = { org: bench.org_id, user_id: "ada", flow_id: reading };
  const uploaded = await bench.api.post("/upload_to_storage_user", form, { query });
  expect(uploaded.status, JSON.stringify(uploaded.body)).toBe(200);
}

/** Files of the blob store that have it, of more than the master key's. */
function blobsWith(text: string): string[] {
  const files = readdirSync(own.blobDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(0);
  return files.map((entry) => join(entry.parentPath, entry.name)).filter((file) => readFileSync(file).includes(text));
}

it("after every kind of run, what callers gave is in clear text in no history, memo, search attribute, log or encrypted blob", async () => {
  await runFlows();
  await runJobs();
  const queues = ["runs", "nodes", "ingest", "background"].map((name) => `TaskQueue = '${own.taskQueue}-${name}'`);
  const types = ["runFlow", "runAction", "importDataset", "runExperiment", "ingestDocument"];
  const kept = await withTemporal(own.temporalAddress, async (client) => {
    const list = async () => {
      const ids: string[] = [];
      const seen = new Set<string>();
      for await (const { workflowId, type } of client.workflow.list({ query: queues.join(" or ") })) {
        ids.push(workflowId);
        seen.add(type);
      }
      return types.every((type) => seen.has(type)) ? [...new Set(ids)] : undefined;
    };
    const all: WorkflowHistory[] = [];
    for (const workflowId of await eventually("every kind is listed", list)) {
      const handle = client.workflow.getHandle(workflowId);
      const { raw } = await handle.describe();
      expect(raw.workflowExecutionInfo?.memo?.fields ?? {}).toEqual({});
      const attributes = Object.keys(raw.workflowExecutionInfo?.searchAttributes?.indexedFields ?? {});
      expect(attributes.filter((name) => !/^(BuildIds|Temporal\w+)$/.test(name))).toEqual([]);
      all.push({ workflowId, history: await handle.fetchHistory() });
    }
    return all;
  });
  expect(kept.flatMap(inClear)).toEqual([]);
  expect(kept.filter((each) => textOf(each).includes(MARKER)).map(({ workflowId }) => workflowId)).toEqual([]);
  // It is there for whoever has the key.
  const clear = await Promise.all(kept.map(decoded));
  expect(clear.filter((each) => textOf(each).includes(MARKER)).length).toBeGreaterThan(6);
  expect(blobsWith(MARKER)).toEqual([]);
  const logged = own.logs().split("\n");
  expect(logged.filter((line) => line.includes(MARKER))).toEqual([]);
}, 300_000);
