import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { startModelStub } from "../../../src/dev/model-stub.ts";
import { purgeDatasets } from "../../../src/stores/evals/datasets.ts";
import { purgeExperiments } from "../../../src/stores/evals/eval-purge.ts";
import type { Answer } from "../../support/client.ts";
import { edges, flow, node } from "../../support/flows.ts";
import { openTenant, slow } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";
import {
  doJob,
  experimentPath,
  jobEnd,
  makeDataset,
  makeEvaluator,
  makeExperiment,
  rowsPath,
  shouting,
} from "./evals.ts";

let tenant: ApiTenant;
let project_id: string;
let right: string;
let long: string;

beforeAll(async () => {
  tenant = await openTenant();
  project_id = await tenant.deploy(shouting());
  right = await makeEvaluator(tenant, { name: "right", type: "exact_match" });
  long = await makeEvaluator(tenant, {
    name: "long",
    type: "code",
    config: { source: "function main({ output }) { return output.length }" },
    score: { pass_threshold: 3 },
  });
});

/** Inputs with what is expected of them. */
async function datasetOf(...rows: ReadonlyArray<readonly [string, string, string?]>): Promise<string> {
  const dataset_id = await makeDataset(tenant);
  const body = rows.map(([input, output, split]) => ({
    inputs: { "in-0": input },
    expected_outputs: { "out-0": output },
    split,
  }));
  expect((await tenant.secret.post(rowsPath(dataset_id), { rows: body })).status).toBe(201);
  return dataset_id;
}

const get = async (id: string, part = "", query = {}): Promise<Answer["body"]> =>
  (await tenant.secret.get(`${experimentPath(id)}${part}`, { query })).body;
const rowsOf = async (id: string): Promise<Answer["body"][]> =>
  (await get(id, "/rows", { order: "asc", page_size: 200 })).data;

/** Types and data of the events that tell of an experiment or of runs of a project. */
const eventsOf = (id: string): Promise<Array<{ type: string; data: Record<string, unknown> }>> =>
  tenant.withDatabase((database) =>
    database.system((db) =>
      db.query<{ type: string; data: Record<string, unknown> }>(
        "select type, data from outbox where data->>'experiment_id' = $1 or data->>'project_id' = $1 order by seq",
        [id],
      ),
    ),
  );

describe("experiments", () => {
  it("runs each row as often as wanted, scores it, and tells so once", async () => {
    const project = await tenant.deploy(shouting());
    const dataset_id = await datasetOf(["ab", "AB"], ["abcd", "ABCD"], ["x", "Y"], ["fail", ""]);
    const gates = [
      { metric: "pass_rate", evaluator_id: right, op: "gte", value: 0.6 },
      { metric: "error_rate", op: "lte", value: 0.25 },
    ];
    const id = await makeExperiment(tenant, {
      project_id: project,
      dataset_id,
      evaluator_ids: [right, long],
      repetitions: 2,
      max_concurrency: 3,
      gates,
    });
    expect(await get(id)).toMatchObject({ state: "DRAFT", verdict: null, flow_version: 1, dataset_version: 1 });
    const job = await doJob(tenant, id, { kind: "run" });
    expect(job).toMatchObject({ state: "completed", progress: { done: 8, total: 8 }, errors: [] });
    expect(await get(id)).toMatchObject({ state: "COMPLETED", verdict: "passed" });
    const status = await get(id, "/status");
    expect(status).toMatchObject({
      counts: { rows: 8, pending: 0, running: 0, completed: 6, failed: 2, cancelled: 0 },
      scores: { expected: 16, done: 16, errored: 4 },
      eta_seconds: null,
      gates: [
        { observed: 2 / 3, passed: true },
        { observed: 0.25, passed: true },
      ],
    });
    const [first, second] = status.per_evaluator;
    expect(first).toMatchObject({
      name: "right",
      n: 6,
      mean: 2 / 3,
      median: 1,
      pass_rate: 2 / 3,
      errors: 2,
      baseline: null,
    });
    // 2, 4, 1, twice each.
    expect(second).toMatchObject({ n: 6, median: 2, pass_rate: 1 / 3, errors: 2 });
    expect(second.mean).toBeCloseTo(7 / 3);
    expect(second.stddev).toBeCloseTo(1.366_260_1);
    // 7/3 -+ 2.570582 * 1.3662601 / sqrt(6)
    expect(second.ci95[0]).toBeCloseTo(0.899_534, 4);
    const rows = await rowsOf(id);
    expect(rows.map((row) => [row.inputs["in-0"], row.repetition, row.state, row.error?.code ?? null])).toEqual(
      [1, 2].flatMap((repetition) => [
        ["ab", repetition, "completed", null],
        ["abcd", repetition, "completed", null],
        ["x", repetition, "completed", null],
        ["fail", repetition, "failed", "guard_failed"],
      ]),
    );
    expect(rows[0]).toMatchObject({ outputs: { "out-0": "AB" }, expected_outputs: { "out-0": "AB" }, baseline: null });
    expect(rows[3].scores[0]).toMatchObject({ value: null, passed: null, error: { code: "no_output" } });
    const run = (await tenant.secret.get(`/v2/runs/${rows[0].run_id}`)).body;
    expect(run).toMatchObject({
      run_type: "batch",
      ran_by_type: "system",
      metadata: { experiment_id: id, repetition: 1 },
    });
    expect(new Set(rows.map((row) => row.run_id)).size).toBe(8);
    expect((await eventsOf(id)).map(({ type, data }) => [type, data["state"], data["verdict"]])).toEqual([
      ["evals.experiment.completed", "COMPLETED", "passed"],
    ]);
    expect((await eventsOf(project)).map(({ type }) => type)).toEqual(["evals.experiment.completed"]);
    expect(await get(id, "/rows", { state: "failed" })).toMatchObject({ data: [{}, {}] });
    const page = await get(id, "/rows", { page_size: 3, order: "asc" });
    expect((await get(id, "/rows", { page_size: 3, order: "asc", cursor: page.cursor })).data[0].row_id).toBe(
      rows[3].row_id,
    );
  });

  it("compares the same rows with a baseline, and fails a gate", async () => {
    const dataset_id = await datasetOf(["ab", "AB"], ["cd", "CD"], ["ef", "EF"], ["gh", "gh"]);
    const evaluator_ids = [right];
    const baseline = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids });
    await doJob(tenant, baseline, { kind: "run" });
    const worse = shouting();
    const nodes = worse.nodes.map((node) =>
      node.id === "tpl-0" ? { ...node, config: { template: "{{ in-0 | replace: 'ab', 'AB' }}" } } : node,
    );
    await tenant.secret.post(`/v2/projects/${project_id}/versions`, { flow: { ...worse, nodes } });
    const gates = [{ metric: "mean", evaluator_id: right, op: "gte", value: -0.1, vs: "baseline" }];
    const id = await makeExperiment(tenant, {
      project_id,
      dataset_id,
      evaluator_ids,
      baseline_experiment_id: baseline,
      gates,
    });
    await doJob(tenant, id, { kind: "run" });
    expect(await get(id)).toMatchObject({ state: "COMPLETED", verdict: "failed", flow_version: 2 });
    const { per_evaluator, gates: found } = await get(id, "/status");
    expect(per_evaluator[0].baseline).toMatchObject({ n: 4, diff: -0.25, improved: 1, regressed: 2, unchanged: 1 });
    // Differences 0, -1, -1, 1: sd 0.957427, t(3) 3.182446.
    expect(per_evaluator[0].baseline.ci95[1]).toBeCloseTo(-0.25 + (3.182_446 * 0.957_427) / 2, 4);
    expect(found).toMatchObject([{ observed: -0.25, passed: false }]);
    expect((await rowsOf(id))[1]).toMatchObject({
      scores: [{ passed: false }],
      baseline: { scores: [{ passed: true }] },
    });
    // Other gates, another verdict; nothing else can be changed any more.
    const path = experimentPath(id);
    expect((await tenant.secret.patch(path, { gates: [{ ...gates[0], value: -0.3 }] })).body.verdict).toBe("passed");
    expect((await tenant.secret.patch(path, { repetitions: 2 })).body.code).toBe("conflict");
    expect((await tenant.secret.delete(experimentPath(baseline))).body.code).toBe("in_use");
    expect((await tenant.secret.delete(`/v2/evals/datasets/${dataset_id}`)).body.code).toBe("in_use");
    const [{ run_id }] = await rowsOf(id);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    await tenant.secret.post(`/v2/projects/${project_id}/versions/1/publish`);
    // What a deleted one leaves is removed, its runs and what others say of them are not.
    await tenant.secret.post(`/v2/evals/runs/${run_id}/scores`, { name: "n", data_type: "boolean", value: true });
    const left = await tenant.withDatabase((database) =>
      database.system(async (db) => {
        while ((await purgeExperiments(db, 1000)) === 1000);
        await purgeDatasets(db, 1000);
        return db.query("select 1 from experiments where experiment_id = $1", [id]);
      }),
    );
    expect(left).toEqual([]);
    const scores = (await tenant.secret.get(`/v2/evals/runs/${run_id}/scores`)).body.data;
    expect(scores.map(({ source }: Answer["body"]) => source)).toEqual(["api"]);
    expect(await get(baseline, "/status")).toMatchObject({ scores: { done: 4 } });
  });

  it("cancels a row that would wait for a decision, and refuses inputs that the flow does not take", async () => {
    const dataset_id = await makeDataset(tenant);
    await tenant.secret.post(rowsPath(dataset_id), {
      rows: [{ inputs: { "in-0": "pause" } }, { inputs: {} }, { inputs: { "in-0": "ok" } }],
    });
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [right] });
    expect(await doJob(tenant, id, { kind: "run" })).toMatchObject({ state: "completed" });
    const rows = await rowsOf(id);
    expect(rows.map((row) => [row.state, row.error?.code])).toEqual([
      ["failed", "run_paused"],
      ["failed", "inputs_invalid"],
      ["completed", undefined],
    ]);
    expect((await tenant.secret.get(`/v2/runs/${rows[0].run_id}`)).body).toMatchObject({
      state: "CANCELLED",
      state_reason: "run_paused",
      pauses: [],
    });
    expect(rows[1].run_id).toBeNull();
  });

  it("runs failed or chosen rows again, scores again, and exports", async () => {
    const dataset_id = await datasetOf(["ab", "AB", "a"], ["fail", "", "a"], ["zz", "ZZ", "b"]);
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [right], splits: ["a"] });
    const early = await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "rerun_failed" });
    expect([early.status, early.body.code]).toEqual([409, "conflict"]);
    await doJob(tenant, id, { kind: "run" });
    const before = await rowsOf(id);
    expect(before.length).toBe(2);
    expect(await doJob(tenant, id, { kind: "rerun_failed" })).toMatchObject({
      state: "completed",
      progress: { total: 1 },
    });
    const after = await rowsOf(id);
    expect([after[0].run_id, after[1].run_id === before[1].run_id]).toEqual([before[0].run_id, false]);
    await doJob(tenant, id, { kind: "rerun_rows", row_ids: [before[0].row_id] });
    expect((await rowsOf(id))[0].run_id).not.toBe(before[0].run_id);
    expect((await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "run" })).status).toBe(409);
    expect((await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "rerun_rows" })).status).toBe(422);
    expect(await doJob(tenant, id, { kind: "score_only", evaluator_ids: [right] })).toMatchObject({
      state: "completed",
    });
    expect(await get(id)).toMatchObject({ state: "COMPLETED" });
    const csv = await doJob(tenant, id, { kind: "export", format: "csv" });
    const file = await (await tenant.secret.raw("GET", csv.result_url)).text();
    expect(file.split("\r\n")[0]).toBe(
      "row_id,external_id,repetition,run_id,state,error,latency_ms,cost_usd,inputs,expected_outputs,outputs,right,right passed,right error",
    );
    expect(file).toContain(`completed,`);
    const jsonl = await doJob(tenant, id, { kind: "export" });
    const lines = (await (await tenant.secret.raw("GET", jsonl.result_url)).text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ outputs: { "out-0": "AB" }, scores: [{ passed: true }] });
  });

  it("is cancelled with what is under way; the rest can be run later", async () => {
    const project = await tenant.deploy(slow(30));
    const dataset_id = await datasetOf(...Array.from({ length: 6 }, (_, i) => [`r${i}`, ""] as const));
    const id = await makeExperiment(tenant, { project_id: project, dataset_id, max_concurrency: 2 });
    const { body } = await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "run" });
    await expect.poll(async () => (await get(id, "/status")).counts.running).toBeGreaterThan(1);
    expect((await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "rerun_failed" })).body.code).toBe(
      "conflict",
    );
    expect((await tenant.secret.delete(experimentPath(id))).body.code).toBe("conflict");
    const cancel = await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "cancel" });
    expect([cancel.status, cancel.body.state]).toEqual([202, "completed"]);
    expect(await jobEnd(tenant, id, body.job_id)).toMatchObject({ state: "cancelled" });
    expect(await get(id)).toMatchObject({ state: "CANCELLED" });
    expect((await get(id, "/status")).counts).toMatchObject({ cancelled: 6, running: 0, pending: 0 });
    const { data } = (await tenant.secret.get("/v2/runs", { query: { project_id: project } })).body;
    expect(data.length).toBeLessThanOrEqual(4);
    const states = async () =>
      (await tenant.secret.get("/v2/runs", { query: { project_id: project } })).body.data.map(
        (run: { state: string }) => run.state,
      );
    await expect.poll(async () => [...new Set(await states())]).toEqual(["CANCELLED"]);
    expect((await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "cancel" })).body.code).toBe("conflict");
  });

  it("ends as partial where its budget is spent, and goes on later", async () => {
    const stub = await startModelStub();
    try {
      const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none" };
      const { body } = await tenant.secret.post("/v2/connections", {
        ...connection,
        credential: { base_url: `${stub.url}/v1` },
      });
      const { connection_id } = body;
      const asking = flow({
        nodes: [
          node("in-0", "input"),
          node("llm-0", "llm", { connection_id, model: "gpt-4o-mini", prompt: "{{in-0}}" }),
          node("out-0", "output"),
        ],
        edges: edges("in-0 > llm-0 > out-0"),
      });
      const project = await tenant.deploy(asking);
      const run = await tenant.secret.post("/v2/runs", { project_id: project, inputs: { "in-0": "x" }, mode: "sync" });
      const cost = run.body.usage.cost_usd;
      expect(cost).toBeGreaterThan(0);
      const dataset_id = await datasetOf(...Array.from({ length: 8 }, (_, i) => [`r${i}`, ""] as const));
      const budget = { max_cost_usd: 2.5 * cost };
      const id = await makeExperiment(tenant, { project_id: project, dataset_id, max_concurrency: 1, budget });
      expect(await doJob(tenant, id, { kind: "run" })).toMatchObject({ state: "completed" });
      expect(await get(id)).toMatchObject({ state: "PARTIAL", verdict: null, budget });
      const { counts, usage } = await get(id, "/status");
      // Three spend it; two more may have been under way.
      expect([counts.completed >= 3, counts.completed <= 5, counts.pending]).toEqual([
        true,
        true,
        8 - counts.completed,
      ]);
      expect(usage.cost_usd).toBeCloseTo(counts.completed * cost, 9);
    } finally {
      await stub.close();
    }
  });

  it("is taken over where the process that accepted its job died before it started it", async () => {
    const dataset_id = await datasetOf(["ab", "AB"]);
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [right] });
    const job_id = randomUUID();
    await tenant.withDatabase((database) =>
      database.system(async (db) => {
        await db.query("update experiments set state = 'QUEUED' where experiment_id = $1", [id]);
        await db.query(
          "insert into experiment_jobs (job_id, experiment_id, org_id, kind, checked_at) values ($1, $2, $3, 'run', now() - interval '1 minute')",
          [job_id, id, tenant.org_id],
        );
      }),
    );
    expect(await jobEnd(tenant, id, job_id)).toMatchObject({ state: "completed", progress: { done: 1, total: 1 } });
    expect(await get(id)).toMatchObject({ state: "COMPLETED" });
  });

  it("pins what it was made with, and says what is not there", async () => {
    const dataset_id = await datasetOf(["ab", "AB"]);
    const evaluator = await makeEvaluator(tenant, { type: "exact_match" });
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [evaluator] });
    await tenant.secret.post(rowsPath(dataset_id), { inputs: { "in-0": "later" } });
    await tenant.secret.patch(`/v2/evals/evaluators/${evaluator}`, { negate: true });
    await tenant.secret.delete(`/v2/evals/evaluators/${evaluator}`);
    await doJob(tenant, id, { kind: "run" });
    expect((await get(id, "/status")).per_evaluator).toMatchObject([{ evaluator_version: 1, n: 1, pass_rate: 1 }]);
    const create = async (body: object) =>
      (await tenant.secret.post("/v2/evals/experiments", { name: "x", project_id, dataset_id, ...body })).status;
    expect(await create({ dataset_version: 9 })).toBe(422);
    expect(await create({ flow_version: 99 })).toBe(422);
    expect(await create({ evaluator_ids: [randomUUID()] })).toBe(404);
    expect(await create({ gates: [{ metric: "mean", op: "gte", value: 1 }] })).toBe(422);
    expect(await create({ gates: [{ metric: "mean", evaluator_id: right, op: "gte", value: 1 }] })).toBe(422);
    expect(await create({ gates: [{ metric: "cost_usd", op: "lte", value: 1, vs: "baseline" }] })).toBe(422);
    const empty = await makeExperiment(tenant, { project_id, dataset_id: await makeDataset(tenant) });
    await doJob(tenant, empty, { kind: "run" });
    expect(await get(empty)).toMatchObject({ state: "FAILED", error: { code: "no_rows" } });
    expect((await eventsOf(empty)).map(({ type }) => type)).toEqual(["evals.experiment.failed"]);
  });
});
