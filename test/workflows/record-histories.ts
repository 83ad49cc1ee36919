import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { namesIn, withIds, type FlowFile } from "../../src/cli/flow-file.ts";
import { startModelStub, STUB_MODEL, type ModelStub } from "../../src/dev/model-stub.ts";
import type { FlowDefinition } from "../../src/domain/flow/definition/definition.ts";
import {
  monitorScheduleId,
  resourceWorkflowId,
  syncScheduleId,
  syncWorkflowId,
  triggerScheduleId,
} from "../../src/temporal/ids.ts";
import { openBench, type Bench, type Run } from "../engine/support.ts";
import {
  decoded,
  historiesFrom,
  historiesOf,
  toJson,
  withTemporal,
  type WorkflowHistory,
} from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startMcpServer } from "../support/mcp-server.ts";
import { eventually } from "../support/scratch.ts";
import { service } from "../support/service.ts";
import { engineScenarios } from "./recorded-scenarios.ts";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));
const root = fileURLToPath(new URL("../../", import.meta.url));
const histories = fileURLToPath(new URL("../histories/", import.meta.url));
// Only those of the latest version are replaced, because runs that began under an earlier version may still be waiting somewhere.
const folder = join(histories, readdirSync(histories).toSorted().at(-1) ?? "");

let bench: Bench;
let target: HttpTarget;
let stub: ModelStub;
beforeAll(async () => {
  [bench, target, stub] = await Promise.all([openBench(), startHttpTarget(), startModelStub()]);
  const credential = { base_url: `${stub.url}/v1` };
  const model = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  const { body } = await bench.api.post("/v2/connections", model);
  await bench.api.patch("/v2/settings", { default_connection_id: body.connection_id, default_model: STUB_MODEL });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});
afterAll(() => Promise.all([target.close(), stub.close()]));

type Example = FlowDefinition & { examples: Array<{ inputs: Record<string, unknown> }> };
const names = readdirSync(join(examples, "flows")).map((file) => file.replace(/\.json$/, ""));
const read = (name: string): Example =>
  JSON.parse(readFileSync(join(examples, "flows", `${name}.json`), "utf8")) as Example;

describe("the histories", () => {
  it("of a shard of deliveries", shardOfDeliveries);

  it.each(names)("of example %s", async (name) => {
    const projectId = await bench.deploy(await withIdsOf(read(name)));
    for (const [at, { inputs }] of read(name).examples.entries()) {
      const { user_id, ...rest } = inputs;
      if (typeof user_id === "string") await upload(projectId, user_id);
      // The example calls the installation under test.
      const here = JSON.parse(JSON.stringify(rest).replaceAll("http://127.0.0.1:8080", service().url)) as object;
      const { run_id } = await bench.start(projectId, { ...here }, user_id === undefined ? {} : { user_id });
      const first = await settled(run_id);
      if (first.state === "PAUSED") {
        const data = first.pauses[0]?.form === null ? {} : { data: { signature: "Ada" } };
        const { status } = await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve", ...data });
        expect(status).toBe(202);
      }
      await bench.until(run_id);
      await keep(`example-${name}-${at}`, run_id);
    }
  });

  it("of syncs of a knowledge base, and of a document's way into it", async () => {
    const { body: base } = await bench.api.post("/v2/knowledge-bases", {
      name: "recorded",
      indexing_params: { embedding_params: { embedding_model: null } },
      website_sources: [{ source_type: "manual", selected_resources: [`${target.url}/text?body=Mills+grind.`] }],
      sync: { schedule_cron: "0 0 1 1 *" },
    });
    const path = `/v2/knowledge-bases/${base.knowledge_base_id}`;
    await withTemporal(service().temporalAddress, async (client) => {
      const schedule = client.schedule.getHandle(syncScheduleId(base.knowledge_base_id));
      await schedule.trigger();
      const sync = await eventually("the sync has ended", async () => {
        const { body } = await bench.api.get(`${path}/syncs`);
        return body.data.find(({ state }: { state: string }) => state === "completed") as
          | { sync_id: string }
          | undefined;
      });
      const { body: resources } = await bench.api.get(`${path}/resources`);
      const [started] = (await schedule.describe()).info.recentActions;
      const ids = {
        "scheduled-sync": started?.action.workflow.workflowId ?? "",
        sync: syncWorkflowId(sync.sync_id),
        "ingest-resource": resourceWorkflowId(resources.data[0].resource_id, 0),
      };
      for (const [name, workflowId] of Object.entries(ids)) {
        const handle = client.workflow.getHandle(workflowId);
        await handle.result();
        await write(`knowledge-${name}.json`, { workflowId, history: await handle.fetchHistory() });
      }
    });
  });

  it("of an experiment on imported rows, and of a monitor", async () => {
    const project_id = await bench.deploy(read("hello"));
    const { dataset_id } = await made("/v2/evals/datasets", { name: "recorded" });
    await made(`/v2/evals/datasets/${dataset_id}/imports`, {
      source: { type: "csv", text: 'name,greeting\nAda,"Hello, Ada!"\nBob,no\n' },
      mapping: { inputs: { "in-0": "name" }, expected_outputs: { "out-0": "greeting" } },
    });
    await keepOf("importDataset");
    const { evaluator_id } = await made("/v2/evals/evaluators", { name: "same", type: "exact_match" });
    const evaluator_ids = [evaluator_id];
    const { experiment_id } = await made("/v2/evals/experiments", { name: "x", project_id, dataset_id, evaluator_ids });
    await made(`/v2/evals/experiments/${experiment_id}/jobs`, { kind: "run" });
    await keepOf("runExperiment");
    const monitor = { name: "recorded", project_id, evaluator_ids, sampling_rate: 1 };
    await trigger(monitorScheduleId((await made("/v2/evals/monitors", monitor))["monitor_id"] ?? ""));
    await keepOf("watchMonitor");
  });

  it("of triggers", async () => {
    const project_id = await bench.deploy(read("hello"));
    const inputs = { "in-0": "'Ada'" };
    const kinds = {
      runSchedule: { provider_id: "millrace", trigger_id: "schedule", config: { cron: "0 0 1 1 *" } },
      pollTrigger: {
        provider_id: "http",
        trigger_id: "http.changed",
        config: { url: `${target.url}/text?body=Mills` },
      },
    };
    for (const [type, kind] of Object.entries(kinds)) {
      await trigger(triggerScheduleId((await made("/v2/triggers", { project_id, inputs, ...kind }))["id"] ?? ""));
      await keepOf(type);
    }
  });

  it("of an action, of an MCP server's tools and of a credential", async () => {
    await made("/v2/providers/http/actions/get/run", { inputs: { url: `${target.url}/text?body=Mills` } });
    await keepOf("runAction");
    const server = await startMcpServer();
    await made("/v2/providers", { mcp: { url: server.url } });
    await server.close();
    await keepOf("importTools");
    // Checks the connection of the stand-in model.
    await keepOf("checkConnection");
    await keepOf("ingestDocument");
  });

  it("of what is done with many runs", async () => {
    const project_id = await bench.deploy(read("hello"));
    const { run_id } = await bench.start(project_id, { "in-0": "Ada" });
    await bench.until(run_id);
    await made("/v2/run-jobs", { action: "replay", filter: { project_id } });
    await keepOf("runJob");
  });

  it("of an erasure, and of a round of purges", async () => {
    await made("/v2/erasures", { user_id: "nobody" });
    await keepOf("eraseUser");
    await withTemporal(service().temporalAddress, async (client) => {
      for await (const { scheduleId } of client.schedule.list())
        if (/^house-.*-five-minutes$/.test(scheduleId)) await client.schedule.getHandle(scheduleId).trigger();
    });
    await keepOf("keepHouse");
  });

  it("of what the engine does besides", async () => {
    for (const { name, definition, inputs, meanwhile } of engineScenarios(target.url)) {
      const flow = typeof definition === "function" ? await definition(bench) : definition;
      const { run_id } = await bench.start(await bench.deploy(flow), inputs);
      await meanwhile?.(bench, run_id);
      await bench.until(run_id);
      await keep(`engine-${name}`, run_id);
    }
  });
});

/** The workflow of a webhook shard whose first activity is still running. */
async function shardOfDeliveries(): Promise<void> {
  await withTemporal(service().temporalAddress, async (client) => {
    const { value: shard } = await client.workflow
      .list({ query: "WorkflowType = 'deliverWebhooks'" })
      [Symbol.asyncIterator]()
      .next();
    const workflowId = (shard as { workflowId: string }).workflowId;
    const history = await client.workflow.getHandle(workflowId).fetchHistory();
    await write("webhook-shard.json", { workflowId, history });
  });
}

async function made(path: string, body: object): Promise<Record<string, string>> {
  const answer = await bench.api.post(path, body);
  expect([200, 201, 202], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body as Record<string, string>;
}

/** Triggers a schedule in Temporal immediately. */
async function trigger(scheduleId: string): Promise<void> {
  await withTemporal(service().temporalAddress, (client) =>
    eventually(`${scheduleId} is there`, () =>
      client.schedule
        .getHandle(scheduleId)
        .trigger()
        .then(() => true)
        .catch(() => false),
    ),
  );
}

/** Stores the first workflow of a type that completes, with everything it started. */
async function keepOf(type: string): Promise<void> {
  await withTemporal(service().temporalAddress, async (client) => {
    const workflowId = await eventually(`a ${type} has completed`, async () => {
      const query = `WorkflowType = '${type}' and ExecutionStatus = 'Completed'`;
      for await (const found of client.workflow.list({ query })) return found.workflowId;
      return undefined;
    });
    await writeAll(`job-${type}`, await historiesFrom(client, workflowId));
  });
}

async function settled(runId: string): Promise<Pick<Run, "state" | "pauses">> {
  const { body } = await bench.api.get(`/v2/runs/${runId}`, { query: { wait_seconds: 30 } });
  return body as Run;
}

/** Examples refer to other flows and to knowledge bases by name; this replaces the names by IDs. */
async function withIdsOf(definition: Example): Promise<FlowDefinition> {
  const file = definition as unknown as FlowFile;
  const ids = new Map<string, string>();
  for (const name of namesIn(file, "project")) ids.set(name, await bench.deploy(read(name)));
  for (const name of namesIn(file, "knowledge_base")) {
    const { body } = await bench.api.post("/v2/knowledge-bases", { name });
    ids.set(name, (body as { knowledge_base_id: string }).knowledge_base_id);
  }
  return withIds(file, (name) => ids.get(name) ?? name) as unknown as FlowDefinition;
}

async function upload(projectId: string, user_id: string): Promise<void> {
  for (const file of readdirSync(join(examples, "documents"))) {
    const form = new FormData();
    form.set("file", new File([readFileSync(join(examples, "documents", file))], file));
    const query = { org: bench.org_id, user_id, flow_id: projectId };
    expect((await bench.api.post("/upload_to_storage_user", form, { query })).status).toBe(200);
  }
}

async function keep(name: string, runId: string): Promise<void> {
  await writeAll(name, await withTemporal(service().temporalAddress, (client) => historiesOf(client, runId)));
}

/** Writes one file per workflow; the workflow that started the others comes first. */
async function writeAll(name: string, histories: readonly WorkflowHistory[]): Promise<void> {
  for (const [at, history] of histories.entries()) {
    const file = at === 0 ? `${name}.json` : `${name}.child-${at}.json`;
    await write(file, history);
  }
}

/** Decrypted, and without the paths of this machine that stack traces of failures contain. */
async function write(file: string, history: WorkflowHistory): Promise<void> {
  const text = JSON.stringify(toJson(await decoded(history)), (_key, value: unknown) =>
    typeof value === "string" ? value.replaceAll(root, "/app/") : value,
  );
  writeFileSync(join(folder, file), `${text}\n`);
}
