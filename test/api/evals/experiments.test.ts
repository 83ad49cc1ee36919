import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { startModelStub } from "../../../src/dev/model-stub.ts";
import { purgeDatasets } from "../../../src/stores/evals/datasets.ts";
import { purgeExperiments } from "../../../src/stores/evals/eval-purge.ts";
import type { Answer } from "../../support/client.ts";
import { buildRun } from "../../stores/rows.ts";
import { edges, flow, node } from "../../support/flows.ts";
import { openTenant, slow, type ApiTenant } from "../tenant.ts";
import {
  doJob,
  experimentPath,
  jobEnd,
  makeDataset,
  makeEvaluator,
  makeExperiment,
  rowsPath,
  shouting,
  startJob,
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

/** Creates a dataset of inputs and their expected outputs. */
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

/** Types and data of the events of an experiment or of a project's runs. */
const eventsOf = (id: string): Promise<Array<{ type: string; data: Record<string, unknown> }>> =>
  tenant.withDatabase((database) =>
    database.system((db) =>
      db.query<{ type: string; data: Record<string, unknown> }>(
        "select type, data from outbox where data->>'experiment_id' = $1 or data->>'project_id' = $1 order by seq",
        [id],
      ),
    ),
  );

describe("an experiment", () => {
  it("runs each row as often as configured, scores it, and sends its completed event once", async () => {
    const project = await tenant.deploy(shouting());
    const dataset_id = await datasetOf(["ab", "AB"], ["abcd", "ABCD"], ["x", "Y"], ["fail", ""]);
    const gates = [
      { metric: "pass_rate", evaluator_id: right, op: "gte", value: 0.5 },
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
    expect(job).toMatchObject({ state: "COMPLETED", progress: { done: 8, total: 8 }, errors: [] });
    expect(await get(id)).toMatchObject({ state: "COMPLETED", verdict: "passed", unscored: 4 });
    const status = await get(id, "/status");
    expect(status).toMatchObject({
      counts: { rows: 8, pending: 0, running: 0, completed: 6, failed: 2, cancelled: 0 },
      scores: { expected: 16, done: 16, errored: 4, unscored: 4 },
      eta_seconds: null,
      gates: [
        // Counted against the eight scores that are expected.
        { observed: 0.5, passed: true, unscored: 2 },
        { observed: 0.25, passed: true, unscored: 0 },
      ],
    });
    const [first, second] = status.per_evaluator;
    expect(first).toMatchObject({
      name: "right",
      n: 6,
      mean: 2 / 3,
      median: 1,
      pass_rate: 2 / 3,
      passed: 4,
      errors: 2,
      expected: 8,
      unscored: 2,
      baseline: null,
    });
    // Values 2, 4 and 1, twice each.
    expect(second).toMatchObject({ n: 6, median: 2, pass_rate: 1 / 3, errors: 2 });
    expect(second.mean).toBeCloseTo(7 / 3);
    expect(second.stddev).toBeCloseTo(1.366_260_1);
    // 7/3 -+ 2.570582 * 1.3662601 / sqrt(6)
    expect(second.ci95[0]).toBeCloseTo(0.899_534, 4);
    const rows = await rowsOf(id);
    expect(rows.map((row) => [row.inputs["in-0"], row.repetition, row.state, row.error?.code ?? null])).toEqual(
      [1, 2].flatMap((repetition) => [
        ["ab", repetition, "COMPLETED", null],
        ["abcd", repetition, "COMPLETED", null],
        ["x", repetition, "COMPLETED", null],
        ["fail", repetition, "FAILED", "guard_failed"],
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
    expect(await get(id, "/rows", { state: "FAILED" })).toMatchObject({ data: [{}, {}] });
    const page = await get(id, "/rows", { page_size: 3, order: "asc" });
    expect((await get(id, "/rows", { page_size: 3, order: "asc", cursor: page.cursor })).data[0].row_id).toBe(
      rows[3].row_id,
    );
  });

  it("false-green: counts rows without a run or score against a gate, and reports how many in the verdict", async () => {
    const dataset_id = await makeDataset(tenant);
    const good = { inputs: { "in-0": "ab" }, expected_outputs: { "out-0": "AB" } };
    // `half` gives a verdict only for the output "AB".
    const half = await makeEvaluator(tenant, {
      type: "code",
      config: {
        source: "function main({ output }) { return output === 'AB' ? { value: 1, passed: true } : { value: 0 } }",
      },
    });
    const rows = [good, ...Array.from({ length: 8 }, () => ({ inputs: {} })), { inputs: { "in-0": "x" } }];
    await tenant.secret.post(rowsPath(dataset_id), { rows });
    const gates = [
      { metric: "pass_rate", evaluator_id: right, op: "gte", value: 1 },
      { metric: "pass_rate", evaluator_id: right, op: "lte", value: 0.5 },
      { metric: "mean", evaluator_id: right, op: "gte", value: 1 },
      { metric: "p95_latency_ms", op: "lte", value: 100_000 },
      { metric: "cost_usd", op: "lte", value: 100 },
      { metric: "error_rate", op: "lte", value: 0.8 },
    ];
    const evaluator_ids = [right, half];
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids, gates });
    await doJob(tenant, id, { kind: "run" });
    expect(await get(id)).toMatchObject({ state: "COMPLETED", verdict: "failed", unscored: 17 });
    const status = await get(id, "/status");
    // One of ten is correct; the last row has no expected output, and eight could not run.
    expect(status).toMatchObject({
      unscored: 17,
      counts: { rows: 10, completed: 2, failed: 8 },
      scores: { expected: 20, done: 4, errored: 1, unscored: 17 },
      per_evaluator: [
        { n: 1, passed: 1, pass_rate: 1, expected: 10, unscored: 9 },
        // Counts scores with a verdict, which are fewer than scores with a number.
        { n: 2, passed: 1, pass_rate: 1, expected: 10, unscored: 8 },
      ],
    });
    expect(status.gates.map(({ observed, passed, unscored }: Answer["body"]) => [observed, passed, unscored])).toEqual([
      [0.1, false, 9],
      [1, false, 9],
      [1, null, 9],
      [expect.any(Number), null, 0],
      [0, null, 0],
      [0.8, true, 0],
    ]);
    expect((await eventsOf(id)).map(({ data }) => [data["verdict"], data["unscored"]])).toEqual([["failed", 17]]);
    // The remaining gate is neither passed nor failed, because scores are missing.
    const { body } = await tenant.secret.patch(experimentPath(id), { gates: gates.slice(2, 3) });
    expect(body).toMatchObject({ verdict: "inconclusive", unscored: 17 });
  });

  it("counts a row whose run was cancelled as cancelled and as finished", async () => {
    const project = await tenant.deploy(
      flow({
        nodes: [
          node("in-0", "input"),
          node("if-0", "condition", { cases: [{ id: "wait", when: 'nodes["in-0"] == "wait"' }] }),
          node("delay-0", "delay", { seconds: 60 }),
          node("guard-0", "guard", { check: 'nodes["in-0"] != "fail"', message: "No" }),
          node("out-0", "output", { value: "{{in-0}}" }),
        ],
        edges: [
          ...edges("in-0 > if-0"),
          { source: "if-0", source_handle: "case:wait", target: "delay-0" },
          { source: "if-0", source_handle: "else", target: "guard-0" },
          ...edges("guard-0 > out-0", "delay-0 > out-0"),
        ],
      }),
    );
    const dataset_id = await datasetOf(["wait", "wait"], ["fail", ""], ["ok", "ok"]);
    const gates = [
      { metric: "error_rate", op: "lte", value: 0.4 },
      { metric: "pass_rate", evaluator_id: right, op: "gte", value: 0.3 },
    ];
    const id = await makeExperiment(tenant, { project_id: project, dataset_id, evaluator_ids: [right], gates });
    const job = await startJob(tenant, id, { kind: "run" });
    await expect.poll(async () => (await rowsOf(id))[0]?.run_id ?? null).not.toBeNull();
    const [waiting] = await rowsOf(id);
    await tenant.until(waiting.run_id, "RUNNING");
    await tenant.secret.post(`/v2/runs/${waiting.run_id}/cancel`, {});
    await jobEnd(tenant, id, job);
    const status = await get(id, "/status");
    expect(status.counts).toEqual({ rows: 3, pending: 0, running: 0, completed: 1, failed: 1, cancelled: 1 });
    expect(status.gates.map(({ observed, passed }: Answer["body"]) => [observed, passed])).toEqual([
      [1 / 3, true],
      [1 / 3, true],
    ]);
    expect((await rowsOf(id)).map(({ state, scores }) => [state, scores.length])).toEqual([
      ["CANCELLED", 0],
      ["FAILED", 1],
      ["COMPLETED", 1],
    ]);
  });

  it("compares each repetition with the same repetition of its baseline", async () => {
    const dataset_id = await datasetOf(["ab", "AB"]);
    const wanted = { project_id, dataset_id, evaluator_ids: [right], repetitions: 3 };
    const baseline = await makeExperiment(tenant, wanted);
    await doJob(tenant, baseline, { kind: "run" });
    const id = await makeExperiment(tenant, { ...wanted, baseline_experiment_id: baseline });
    await doJob(tenant, id, { kind: "run" });
    const [{ baseline: compared }] = (await get(id, "/status")).per_evaluator;
    expect(compared).toMatchObject({ n: 3, diff: 0, unchanged: 3 });
    const before = await rowsOf(baseline);
    expect((await rowsOf(id)).map((row) => [row.repetition, row.baseline.run_id])).toEqual(
      before.map((row) => [row.repetition, row.run_id]),
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
    // Changed gates give another verdict; no other field can be changed any more.
    const path = experimentPath(id);
    expect((await tenant.secret.patch(path, { gates: [{ ...gates[0], value: -0.3 }] })).body.verdict).toBe("passed");
    expect((await tenant.secret.patch(path, { repetitions: 2 })).body.code).toBe("conflict");
    expect((await tenant.secret.delete(experimentPath(baseline))).body.code).toBe("in_use");
    expect((await tenant.secret.delete(`/v2/evals/datasets/${dataset_id}`)).body.code).toBe("in_use");
    const [{ run_id }] = await rowsOf(id);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    await tenant.secret.post(`/v2/projects/${project_id}/versions/1/publish`);
    // Deleting an experiment deletes its results, but not its runs or the scores from other sources.
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

  it("fails a row that would wait for an approval or has invalid inputs", async () => {
    const dataset_id = await makeDataset(tenant);
    await tenant.secret.post(rowsPath(dataset_id), {
      rows: [{ inputs: { "in-0": "pause" } }, { inputs: {} }, { inputs: { "in-0": "ok" } }],
    });
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [right] });
    expect(await doJob(tenant, id, { kind: "run" })).toMatchObject({ state: "COMPLETED" });
    const rows = await rowsOf(id);
    expect(rows.map((row) => [row.state, row.error?.code])).toEqual([
      ["FAILED", "run_paused"],
      ["FAILED", "inputs_invalid"],
      ["COMPLETED", undefined],
    ]);
    expect((await tenant.secret.get(`/v2/runs/${rows[0].run_id}`)).body).toMatchObject({
      state: "CANCELLED",
      state_reason: "run_paused",
      pauses: [],
    });
    expect(rows[1].run_id).toBeNull();
    // Only rows that have run are scored again.
    const { progress } = await doJob(tenant, id, { kind: "score_only" });
    expect([progress.done, progress.total < rows.length]).toEqual([progress.total, true]);
  });

  it("reruns failed or chosen rows, rescores, and exports", async () => {
    const dataset_id = await datasetOf(["ab", "AB", "a"], ["fail", "", "a"], ["zz", "ZZ", "b"]);
    const namesake = await makeEvaluator(tenant, { name: "right", type: "contains", config: { values: ["never"] } });
    const evaluator_ids = [right, namesake];
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids, splits: ["a"] });
    const early = await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "rerun_failed" });
    expect([early.status, early.body.code]).toEqual([409, "conflict"]);
    await doJob(tenant, id, { kind: "run" });
    const before = await rowsOf(id);
    expect(before.length).toBe(2);
    expect(await doJob(tenant, id, { kind: "rerun_failed" })).toMatchObject({
      state: "COMPLETED",
      progress: { total: 1 },
    });
    const after = await rowsOf(id);
    expect([after[0].run_id, after[1].run_id === before[1].run_id]).toEqual([before[0].run_id, false]);
    await doJob(tenant, id, { kind: "rerun_rows", row_ids: [before[0].row_id] });
    expect((await rowsOf(id))[0].run_id).not.toBe(before[0].run_id);
    expect((await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "run" })).status).toBe(409);
    expect((await tenant.secret.post(`${experimentPath(id)}/jobs`, { kind: "rerun_rows" })).status).toBe(422);
    expect(await doJob(tenant, id, { kind: "score_only", evaluator_ids: [right] })).toMatchObject({
      state: "COMPLETED",
    });
    expect(await get(id)).toMatchObject({ state: "COMPLETED" });
    const csv = await doJob(tenant, id, { kind: "export", format: "csv" });
    const file = await (await tenant.secret.raw("GET", csv.result_url)).text();
    const own = "row_id,external_id,repetition,run_id,state,error,latency_ms,cost_usd,inputs,expected_outputs,outputs";
    const [one, other] = [`right (${right})`, `right (${namesake})`];
    expect(file.split("\r\n")[0]).toBe(
      `${own},${one},${one} passed,${one} error,${other},${other} passed,${other} error`,
    );
    expect(file).toContain(`COMPLETED,`);
    expect(file).toContain(",true,true,,false,false,");
    const alone = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [right], splits: ["b"] });
    await doJob(tenant, alone, { kind: "run" });
    const { result_url } = await doJob(tenant, alone, { kind: "export", format: "csv" });
    expect((await (await tenant.secret.raw("GET", result_url)).text()).split("\r\n")[0]).toBe(
      `${own},right,right passed,right error`,
    );
    const jsonl = await doJob(tenant, id, { kind: "export" });
    const lines = (await (await tenant.secret.raw("GET", jsonl.result_url)).text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ outputs: { "out-0": "AB" }, scores: [{ passed: true }, { passed: false }] });
  });

  it("can be cancelled with its unfinished runs; the rest can be run later", async () => {
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
    expect([cancel.status, cancel.body.state]).toEqual([202, "COMPLETED"]);
    expect(await jobEnd(tenant, id, body.job_id)).toMatchObject({ state: "CANCELLED" });
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

  it("ends as partial when its budget is spent, and continues later", async () => {
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
      expect(await doJob(tenant, id, { kind: "run" })).toMatchObject({ state: "COMPLETED" });
      expect(await get(id)).toMatchObject({ state: "PARTIAL", verdict: null, budget });
      const { counts, usage } = await get(id, "/status");
      // Three runs use up the budget; two more may have been running by then.
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

  it("can be compared with any other experiment later", async () => {
    const project = await tenant.deploy(shouting());
    const dataset_id = await datasetOf(["ab", "AB"], ["cd", "cd"], ["fail", ""], ["xyz", "XYZ"]);
    const size = await makeEvaluator(tenant, {
      name: "size",
      type: "code",
      config: { source: "function main({ output }) { return output.length }" },
      score: { direction: "minimize" },
    });
    const first = await makeExperiment(tenant, {
      project_id: project,
      dataset_id,
      evaluator_ids: [right, size],
      repetitions: 2,
    });
    await doJob(tenant, first, { kind: "run" });
    const other = shouting();
    const nodes = other.nodes.map((each) =>
      each.id === "tpl-0" ? { ...each, config: { template: "{{ in-0 | replace: 'xyz', 'longer' }}" } } : each,
    );
    await tenant.secret.post(`/v2/projects/${project}/versions`, { flow: { ...other, nodes } });
    const second = await makeExperiment(tenant, {
      project_id: project,
      dataset_id,
      evaluator_ids: [right, size, long],
    });
    await doJob(tenant, second, { kind: "run" });
    const compare = (id: string, to: string) => tenant.secret.post(`${experimentPath(id)}/compare`, { with: to });
    const { status, body } = await compare(second, first);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      experiment_id: second,
      with: first,
      rows: { both: 4, only_here: 0, only_there: 4 },
      metrics: [
        { metric: "error_rate", here: 0.25, there: 0.25, diff: 0 },
        { metric: "p95_latency_ms" },
        { metric: "cost_usd", here: 0, there: 0, diff: 0 },
      ],
    });
    const named = new Map(body.per_evaluator.map((each: Answer["body"]) => [each.evaluator_id, each]));
    // AB and XYZ are no longer correct; cd is now.
    expect(named.get(right)).toMatchObject({
      n: 3,
      improved: 1,
      regressed: 2,
      unchanged: 0,
      here: { n: 3, unscored: 1 },
      there: { n: 6, unscored: 2 },
    });
    expect(named.get(size)).toMatchObject({ n: 3, diff: 1, improved: 0, regressed: 1, unchanged: 2 });
    expect(named.get(long)).toMatchObject({ n: 0, diff: null, there: null, here: { evaluator_version: 1, n: 3 } });
    const rows = await rowsOf(second);
    expect(body.changed).toHaveLength(4);
    expect(body.changed[0]).toMatchObject({
      evaluator_id: size,
      number: 6,
      with_number: 3,
      change: "regressed",
      repetition: 1,
      run_id: rows.find((row) => row.inputs["in-0"] === "xyz").run_id,
    });
    const better = body.changed.filter(({ change }: Answer["body"]) => change === "improved");
    expect(better).toMatchObject([{ evaluator_id: right, number: 1, with_number: 0 }]);
    const turned = (await compare(first, second)).body;
    expect(turned).toMatchObject({ rows: { both: 4, only_here: 4, only_there: 0 } });
    const foreign = await openTenant();
    const project_of = await foreign.deploy(shouting());
    const elsewhere = await makeExperiment(foreign, { project_id: project_of, dataset_id: await makeDataset(foreign) });
    const refused = [
      await compare(first, elsewhere),
      await compare(elsewhere, first),
      await compare(first, randomUUID()),
    ];
    expect(refused.map((each) => each.status)).toEqual([404, 404, 404]);
    expect((await compare(first, "x")).status).toBe(422);
  });

  it("prevents its evaluators from being deleted", async () => {
    const dataset_id = await datasetOf(["ab", "AB"]);
    const evaluator = await makeEvaluator(tenant, { type: "exact_match" });
    const path = `/v2/evals/evaluators/${evaluator}`;
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [right, evaluator] });
    const monitor = { name: "M", project_id, evaluator_ids: [evaluator], enabled: false };
    const { body: made } = await tenant.secret.post("/v2/evals/monitors", monitor);
    const refused = await tenant.secret.delete(path);
    expect([refused.status, refused.body.code]).toEqual([409, "in_use"]);
    expect(refused.body.used_by).toEqual([
      { monitor_id: made.monitor_id, name: "M" },
      { experiment_id: id, name: "X" },
    ]);
    expect((await tenant.secret.delete(experimentPath(id))).status).toBe(204);
    expect((await tenant.secret.delete(path)).body.used_by).toHaveLength(1);
    expect((await tenant.secret.delete(`/v2/evals/monitors/${made.monitor_id}`)).status).toBe(204);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect((await tenant.secret.get(path)).status).toBe(404);
  });

  it("starts even if the process that accepted its job died before starting it", async () => {
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
    expect(await jobEnd(tenant, id, job_id)).toMatchObject({ state: "COMPLETED", progress: { done: 1, total: 1 } });
    expect(await get(id)).toMatchObject({ state: "COMPLETED" });
  });

  it("cancels runs left behind by a process that died while creating a job's last runs", async () => {
    const id = await makeExperiment(tenant, { project_id, dataset_id: await datasetOf(["ab", "AB"]) });
    const run_id = await tenant.withDatabase(async (database) => {
      const batch = { run_type: "batch", metadata: { experiment_id: id } } as const;
      const made = await buildRun(database, { org_id: tenant.org_id, project_id }, batch);
      await database.system((db) => db.query("update runs set check_at = now() where run_id = $1", [made]));
      return made;
    });
    await tenant.until(run_id, "CANCELLED");
  });

  it("pins the versions it was created with, and rejects missing ones", async () => {
    const dataset_id = await datasetOf(["ab", "AB"]);
    const evaluator = await makeEvaluator(tenant, { type: "exact_match" });
    const id = await makeExperiment(tenant, { project_id, dataset_id, evaluator_ids: [evaluator] });
    await tenant.secret.post(rowsPath(dataset_id), { inputs: { "in-0": "later" } });
    await tenant.secret.patch(`/v2/evals/evaluators/${evaluator}`, { negate: true });
    const { data } = (await tenant.secret.get("/v2/evals/evaluators")).body;
    expect(data.map(({ evaluator_id }: Answer["body"]) => evaluator_id)).toContain(evaluator);
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
