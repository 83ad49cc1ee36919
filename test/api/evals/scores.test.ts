import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { checkedClient } from "../http/conformance.ts";
import { openTenant, problemText, type ApiTenant } from "../tenant.ts";
import { doJob, makeDataset, makeEvaluator, makeExperiment, rowsPath, shouting } from "./evals.ts";

let mine: ApiTenant;
let project_id: string;

beforeAll(async () => {
  mine = await openTenant();
  project_id = await mine.deploy(shouting());
});

const scoresPath = (runId: string): string => `/v2/evals/runs/${runId}/scores`;
/** Starts a run; returns the path of its scores. */
async function newRun(): Promise<string> {
  const { body } = await mine.secret.post("/v2/runs", { project_id, inputs: { "in-0": "a" }, mode: "sync" });
  return scoresPath(body.run_id);
}
const good = { name: "good", data_type: "boolean", value: true };

it("stores scores from programs and people for a run and its nodes", async () => {
  const path = await newRun();
  const editor = await mine.user("editor");
  const metadata = { rubric: { version: 2 }, tags: ["x"] };
  const given = { name: "helpful", data_type: "numeric", value: 0.25, passed: false, comment: "Too short.", metadata };
  const numeric = await mine.secret.post(path, given);
  expect([numeric.status, numeric.body]).toMatchObject([
    201,
    { ...given, source: "api", node_id: null, error: null, evaluator_id: null, experiment_id: null },
  ]);
  expect(numeric.headers.get("location")).toBe(`/v2/evals/scores/${numeric.body.score_id}`);
  expect((await mine.secret.get(numeric.headers.get("location") ?? "")).body).toEqual(numeric.body);

  const { body: human } = await editor.post(path, { ...good, value: false, node_id: "tpl-0" });
  expect(human).toMatchObject({ value: false, passed: false, source: "human", node_id: "tpl-0", metadata: {} });
  expect(human.author).not.toBe(numeric.body.author);
  const { body: bad } = await mine.secret.post(path, { ...good, name: "toxic", passed: false });
  expect(bad).toMatchObject({ value: true, passed: false });
  const { body: label } = await mine.secret.post(path, { name: "tone", data_type: "categorical", value: "warm" });
  expect(label).toMatchObject({ value: "warm", passed: null });

  const list = async (query: Record<string, string | number>) => (await mine.secret.get(path, { query })).body;
  expect((await list({})).data).toEqual([label, bad, human, numeric.body]);
  expect((await list({ source: "human" })).data).toEqual([human]);
  expect((await list({ name: "tone" })).data).toEqual([label]);
  expect((await list({ node_id: "tpl-0" })).data).toEqual([human]);
  const first = await list({ page_size: 3, order: "asc" });
  expect([first.data, first.has_more]).toEqual([[numeric.body, human, bad], true]);
  const rest = await list({ page_size: 3, order: "asc", cursor: first.cursor });
  expect([rest.data, rest.cursor]).toEqual([[label], null]);
  const other = await mine.secret.get(await newRun(), { query: { order: "asc", cursor: first.cursor } });
  expect([other.status, other.body.code]).toEqual([400, "cursor_mismatch"]);
});

it("lists scores from evaluators and feedback too", async () => {
  const dataset_id = await makeDataset(mine);
  await mine.secret.post(rowsPath(dataset_id), { inputs: { "in-0": "a" } });
  const evaluator_id = await makeEvaluator(mine, { type: "contains", config: { values: ["A"] } });
  const experiment = { project_id, dataset_id, evaluator_ids: [evaluator_id] };
  const experiment_id = await makeExperiment(mine, experiment);
  await doJob(mine, experiment_id, { kind: "run" });
  const { data } = (await mine.secret.get(`/v2/evals/experiments/${experiment_id}/rows`)).body;
  const { run_id } = data[0];
  await mine.public.post(`/inference/v0/feedback/${mine.org_id}/${project_id}`, { run_id, feedback: "positive" });
  expect((await mine.secret.get(scoresPath(run_id), { query: { order: "asc" } })).body.data).toMatchObject([
    { name: "E", source: "evaluator", value: true, passed: true, evaluator_id, evaluator_version: 1, experiment_id },
    { name: "feedback", source: "api", value: true, passed: true, evaluator_id: null },
  ]);
});

describe("scores across runs", () => {
  it("can be filtered by project, run, name, source, node, result and time, with paging", async () => {
    const own = await openTenant();
    const project = await own.deploy(shouting());
    const give = async (value: number, body: object = {}) => {
      const { body: run } = await own.secret.post("/v2/runs", {
        project_id: project,
        inputs: { "in-0": "a" },
        mode: "sync",
      });
      const given = { name: "help", data_type: "numeric", value, ...body };
      return (await own.secret.post(scoresPath(run.run_id), given)).body;
    };
    const [first, second] = [await give(1, { passed: true }), await give(2, { name: "tone", passed: false })];
    const editor = await own.user("editor");
    const third = (await editor.post(scoresPath(second.run_id), { ...good, node_id: "tpl-0" })).body;
    const ids = async (query: Record<string, string | number | boolean>) =>
      (await own.secret.get("/v2/evals/scores", { query })).body.data.map(
        (each: { score_id: string }) => each.score_id,
      );
    const all = [third, second, first].map(({ score_id }) => score_id);
    expect(await ids({})).toEqual(all);
    expect(await ids({ project_id: project, order: "asc" })).toEqual(all.toReversed());
    expect(await ids({ project_id: randomUUID() })).toEqual([]);
    expect(await ids({ run_id: second.run_id })).toEqual(all.slice(0, 2));
    expect(await ids({ name: "tone" })).toEqual([second.score_id]);
    expect(await ids({ source: "human" })).toEqual([third.score_id]);
    expect(await ids({ node_id: "tpl-0" })).toEqual([third.score_id]);
    expect(await ids({ passed: false })).toEqual([second.score_id]);
    expect(await ids({ corrected: true })).toEqual([]);
    const later = new Date(Date.parse(first.created_at) + 1).toISOString();
    expect(await ids({ created_after: later, name: "help" })).toEqual([]);
    expect(await ids({ created_before: third.created_at, passed: true })).toEqual([first.score_id]);
    // RFC 3339 allows offsets and years that Postgres rejects.
    const [early, late] = ["0000-01-01T00:00:00+17:37", "9999-12-31T23:59:59-23:59"];
    expect(await ids({ created_after: early, created_before: late })).toEqual(all);
    expect(await ids({ evaluator_id: randomUUID() })).toEqual([]);
    const page = (await own.secret.get("/v2/evals/scores", { query: { page_size: 2 } })).body;
    expect(await ids({ page_size: 2, cursor: page.cursor })).toEqual([first.score_id]);
    const other = await own.secret.get("/v2/evals/scores", { query: { cursor: page.cursor, name: "help" } });
    expect([other.status, other.body.code]).toEqual([400, "cursor_mismatch"]);
    expect((await mine.secret.get("/v2/evals/scores", { query: { run_id: second.run_id } })).body.data).toEqual([]);
  });

  it("can be corrected with a current ETag, keeping the original value, and deleted", async () => {
    const path = await newRun();
    const given = { name: "help", data_type: "numeric", value: 1, comment: "Good." };
    const { body: score } = await mine.secret.post(path, given);
    expect(score.corrected).toBeNull();
    const at = `/v2/evals/scores/${score.score_id}`;
    const read = await mine.secret.get(at);
    const headers = { "if-match": read.headers.get("etag") ?? "" };
    const editor = await mine.user("editor");
    const changed = await editor.patch(at, { value: 0.5, comment: "Less." }, { headers });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { value: 0.5, comment: "Less.", passed: null, author: score.author, source: "api" },
    ]);
    expect(changed.body.corrected).toMatchObject({ value: 1, comment: "Good.", passed: null, error: null });
    expect(changed.body.corrected.by).not.toBe(score.author);
    expect((await mine.secret.patch(at, { value: 0.4 }, { headers })).status).toBe(412);
    const again = await mine.secret.patch(at, { passed: false });
    expect(again.body).toMatchObject({ value: 0.5, passed: false, corrected: { value: 1, by: score.author } });
    const same = await mine.secret.patch(at, { value: 0.5 });
    expect([same.body, same.headers.get("etag")]).toEqual([again.body, again.headers.get("etag")]);
    const { data } = (await mine.secret.get("/v2/evals/scores", { query: { corrected: true } })).body;
    expect(data).toEqual([again.body]);
    const { body: flag } = await mine.secret.post(path, good);
    expect((await mine.secret.patch(`/v2/evals/scores/${flag.score_id}`, { value: false })).body.passed).toBe(false);
    const wrong = await mine.secret.patch(at, { value: "high" });
    expect([wrong.status, wrong.body.detail[0].loc]).toEqual([422, ["body", "value"]]);
    const [viewer, others] = [await mine.user("viewer"), await openTenant()];
    for (const [api, status] of [
      [checkedClient(mine.target), 401],
      [mine.public, 403],
      [viewer, 403],
      [others.secret, 404],
    ] as const)
      expect([(await api.patch(at, { value: 0 })).status, (await api.delete(at)).status]).toEqual([status, status]);
    expect((await mine.secret.delete(at)).status).toBe(204);
    expect([(await mine.secret.get(at)).status, (await mine.secret.delete(at)).status]).toEqual([404, 404]);
  });

  it("keep a correction of an evaluator's score, and update its experiment and monitor", async () => {
    const own = await openTenant();
    const project = await own.deploy(shouting());
    const dataset_id = await makeDataset(own);
    const rows = ["a", "b", "c", "d"].map((text) => ({ inputs: { "in-0": text } }));
    await own.secret.post(rowsPath(dataset_id), { rows });
    const evaluator_id = await makeEvaluator(own, {
      type: "code",
      config: { source: "function main({ output }) { if (output === 'D') throw 1; return output === 'A' ? 1 : 0 }" },
      score: { pass_threshold: 0.5 },
    });
    const monitor = { name: "M", project_id: project, evaluator_ids: [evaluator_id], sampling_rate: 1 };
    const filter = { run_types: ["batch"] };
    const { body: watching } = await own.secret.post("/v2/evals/monitors", { ...monitor, filter });
    const gates = [{ metric: "pass_rate", evaluator_id, op: "gte", value: 0.75 }];
    const experiment_id = await makeExperiment(own, {
      project_id: project,
      dataset_id,
      evaluator_ids: [evaluator_id],
      gates,
    });
    await doJob(own, experiment_id, { kind: "run" });
    const at = `/v2/evals/experiments/${experiment_id}`;
    expect((await own.secret.get(at)).body).toMatchObject({ verdict: "failed", unscored: 1 });
    const shown = (await own.secret.get(`${at}/rows`, { query: { order: "asc" } })).body.data;
    const monitorPath = `/v2/evals/monitors/${watching.monitor_id}`;
    await expect.poll(async () => (await own.secret.get(monitorPath)).body.stats.scored).toBe(4);
    const scoreOf = async (index: number) =>
      (await own.secret.get("/v2/evals/scores", { query: { run_id: shown[index].run_id, evaluator_id } })).body.data[0];
    const correct = async (index: number, body: object) =>
      (await own.secret.patch(`/v2/evals/scores/${(await scoreOf(index)).score_id}`, body)).body;
    expect(await correct(1, { value: 0.9, comment: "It is right." })).toMatchObject({
      passed: true,
      source: "evaluator",
    });
    // A person can set a score that the evaluator failed to compute.
    expect(await correct(3, { value: 0.6 })).toMatchObject({ passed: true, error: null, corrected: { value: null } });
    expect((await own.secret.get(at)).body).toMatchObject({ verdict: "passed", unscored: 0 });
    const status = async () => (await own.secret.get(`${at}/status`)).body.per_evaluator[0];
    expect(await status()).toMatchObject({ n: 4, mean: 0.625, passed: 3, errors: 0 });
    const stats = (await own.secret.get(`${monitorPath}/score-stats`, { query: { granularity: "day" } })).body.totals;
    expect(stats).toMatchObject({ n: 4, mean: 0.625, pass_rate: 0.75, errors: 0 });
    await doJob(own, experiment_id, { kind: "score_only" });
    expect(await status()).toMatchObject({ n: 4, mean: 0.625 });
    expect(await scoreOf(1)).toMatchObject({ value: 0.9, comment: "It is right.", corrected: { value: 0 } });
    const refused = await own.secret.delete(`/v2/evals/scores/${(await scoreOf(0)).score_id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
  });
});

it("are stored once per Idempotency-Key", async () => {
  const path = await newRun();
  const headers = { "idempotency-key": randomUUID() };
  const first = await mine.secret.post(path, good, { headers });
  const again = await mine.secret.post(path, good, { headers });
  expect([again.status, again.headers.get("idempotent-replayed"), again.body]).toEqual([201, "true", first.body]);
  expect((await mine.secret.post(path, { ...good, value: false }, { headers })).status).toBe(409);
  expect((await mine.secret.get(path)).body.data).toEqual([first.body]);
});

it("are rejected with a reason if they are invalid", async () => {
  const path = await newRun();
  const wrong: [object, string][] = [
    [{ value: 1 }, "value"],
    [{ data_type: "numeric", value: "1" }, "value"],
    [{ data_type: "numeric", value: 1e10 }, "value"],
    [{ data_type: "categorical" }, "value"],
    [{ data_type: "categorical", value: "" }, "value"],
    [{ value: null }, "value"],
    [{ data_type: "vague" }, "data_type"],
    [{ name: "" }, "name"],
    [{ node_id: "tpl-1" }, "node_id"],
    [{ metadata: { long: "x".repeat(16_384) } }, "metadata"],
    [{ comment: "x".repeat(4001) }, "comment"],
    [{ source: "evaluator" }, "source"],
  ];
  for (const [body, member] of wrong) {
    const answer = await mine.secret.post(path, { ...good, ...body });
    expect([answer.status, answer.body.detail?.[0].loc.slice(0, 2)]).toEqual([422, ["body", member]]);
  }
  expect((await mine.secret.get(path)).body.data).toEqual([]);
});

it("need a credential and a role, and are hidden from other organisations, like their runs", async () => {
  const path = await newRun();
  const score = `/v2/evals/scores/${(await mine.secret.post(path, good)).body.score_id}`;
  const [viewer, others] = [await mine.user("viewer"), await openTenant()];
  const statuses = async (api: typeof viewer) =>
    [await api.post(path, good), await api.get(path), await api.get(score)].map(({ status }) => status);
  expect(await statuses(checkedClient(mine.target))).toEqual([401, 401, 401]);
  expect(await statuses(mine.public)).toEqual([403, 403, 403]);
  expect(await statuses(viewer)).toEqual([403, 200, 200]);
  expect(await statuses(others.secret)).toEqual([404, 404, 404]);
  for (const [theirs, none] of [
    [path, scoresPath(randomUUID())],
    [score, `/v2/evals/scores/${randomUUID()}`],
  ] as const)
    expect(problemText(await others.secret.get(theirs))).toBe(problemText(await others.secret.get(none)));
});
