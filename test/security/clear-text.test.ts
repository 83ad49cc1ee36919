import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../src/dev/model-stub.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { deployExamples, exampleRuns, runExample } from "../api/example-flows.ts";
import { openTenant } from "../api/tenant.ts";
import { flow, nested, openBench, type Bench } from "../engine/support.ts";
import { decoded, inClear, textOf, withTemporal, type WorkflowHistory } from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { engineScenarios } from "../workflows/recorded-scenarios.ts";

// Other tests check the histories of their own runs for plain text; see test/support/replay-runs.ts.

/** Planted in every field in which a caller can send a value. */
const MARKER = "planted-value-6fd1c0";
/** Sent to flows that redact it. */
const REDACTED_VALUE = "redacted-value-72ae0b";
/** The credential for the model server of the example flows. */
const API_KEY = "sk-credential-of-the-examples-19c4";

let own: OwnService;
let bench: Bench;
let target: HttpTarget;
let stub: ModelStub;
beforeAll(async () => {
  [target, stub] = await Promise.all([startHttpTarget(), startModelStub()]);
  own = await startService({ env: { LOG_LEVEL: "debug", MILLRACE_SEAL_BLOBS: "on" } });
  bench = await openBench(own);
});
afterAll(async () => {
  await own?.close();
  await Promise.all([target?.close(), stub?.close()]);
});

const out = { id: "out-0", type: "output" };
const inputs = { "in-0": MARKER };

async function made(path: string, body: object | FormData): Promise<Record<string, string>> {
  const answer = await bench.api.post(path, body);
  expect([200, 201, 202], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body as Record<string, string>;
}

/** Runs every node type and every way to finish, each with the marker in it. */
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

/** Workflows that do not run flows. */
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

/** Runs the example flows on their own inputs; returns texts that occur nowhere else. */
async function runExamples(): Promise<string[]> {
  const tenant = await openTenant(own);
  const projects = await deployExamples(tenant, stub, { scheme: "api_key", api_key: API_KEY });
  for (const [flow, , { inputs: given }] of exampleRuns)
    await tenant.until(await runExample(tenant, projects.get(flow), given), "COMPLETED");
  expect(stub.calls.some(({ headers }) => headers.authorization?.includes(API_KEY))).toBe(true);
  const texts = exampleRuns.flatMap(([, , { inputs: given }]) => Object.values(given));
  return texts.filter((text) => typeof text === "string" && text.length > 20 && !text.startsWith("http")) as string[];
}

/** A run whose flow redacts its input, and one that starts in an hour. */
async function runRedacted(): Promise<void> {
  const settings = { redact: ["$.inputs.in-0", "$.outputs.out-0"] };
  const project_id = await bench.deploy(flow([{ id: "in-0", type: "input" }, out], ["in-0>out-0"], { settings }));
  const given = { "in-0": REDACTED_VALUE };
  await bench.until((await bench.start(project_id, given)).run_id);
  await bench.start(project_id, given, { run_at: new Date(Date.now() + 3_600_000).toISOString() });
}

/** Tables that contain one of the texts. */
async function tablesWith(texts: readonly string[]): Promise<string[]> {
  const options = { url: own.databaseUrl, poolSize: 1, applicationName: "millrace-test", onError: () => undefined };
  const database = openDatabase(options);
  try {
    return await database.system(async (db) => {
      const tables = await db.query<{ name: string }>(
        "select relname as name from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace",
      );
      expect(tables.length).toBeGreaterThan(50);
      const found: string[] = [];
      for (const { name } of tables) {
        const rows = await db.query(
          `select 1 from "${name}" t where exists (select from unnest($1::text[]) as x where strpos(t::text, x) > 0) limit 1`,
          [texts],
        );
        if (rows.length > 0) found.push(name);
      }
      return found;
    });
  } finally {
    await database.close();
  }
}

/** Files of the blob store that contain one of the texts. */
function blobsWith(texts: readonly string[]): string[] {
  const files = readdirSync(own.blobDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(0);
  return files
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file);
      return texts.some((text) => bytes.includes(text));
    });
}

it("no kind of run leaves clear text in a history, memo, search attribute, log or encrypted blob, or a secret in the database", async () => {
  await runFlows();
  await runJobs();
  await runRedacted();
  const planted = [MARKER, REDACTED_VALUE, API_KEY, ...(await runExamples())];
  expect(planted.length).toBeGreaterThan(6);
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
  expect(
    kept.filter((each) => planted.some((text) => textOf(each).includes(text))).map(({ workflowId }) => workflowId),
  ).toEqual([]);
  // With the key, the marker can be decrypted.
  const clear = await Promise.all(kept.map(decoded));
  expect(clear.filter((each) => textOf(each).includes(MARKER)).length).toBeGreaterThan(6);
  expect(blobsWith(planted)).toEqual([]);
  // People may read runs in the database, so redacted values and credentials must not be there.
  expect(await tablesWith([REDACTED_VALUE, API_KEY])).toEqual([]);
  expect(await tablesWith([MARKER])).toContain("runs");
  const logged = own.logs().split("\n");
  expect(logged.filter((line) => planted.some((text) => line.includes(text)))).toEqual([]);
}, 300_000);
