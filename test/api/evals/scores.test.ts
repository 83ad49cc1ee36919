import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { checkedClient } from "../http/conformance.ts";
import { openTenant, problemText } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";
import { doJob, makeDataset, makeEvaluator, makeExperiment, rowsPath, shouting } from "./evals.ts";

let mine: ApiTenant;
let project_id: string;

beforeAll(async () => {
  mine = await openTenant();
  project_id = await mine.deploy(shouting());
});

const scoresPath = (runId: string): string => `/v2/evals/runs/${runId}/scores`;
/** The path of the scores of a new run. */
async function newRun(): Promise<string> {
  const { body } = await mine.secret.post("/v2/runs", { project_id, inputs: { "in-0": "a" }, mode: "sync" });
  return scoresPath(body.run_id);
}
const good = { name: "good", data_type: "boolean", value: true };

it("keeps what programs and people say of a run and its nodes", async () => {
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

it("shows what evaluators and feedback say beside them", async () => {
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

it("is given once for an Idempotency-Key", async () => {
  const path = await newRun();
  const headers = { "idempotency-key": randomUUID() };
  const first = await mine.secret.post(path, good, { headers });
  const again = await mine.secret.post(path, good, { headers });
  expect([again.status, again.headers.get("idempotent-replayed"), again.body]).toEqual([201, "true", first.body]);
  expect((await mine.secret.post(path, { ...good, value: false }, { headers })).status).toBe(409);
  expect((await mine.secret.get(path)).body.data).toEqual([first.body]);
});

it("says what is wrong with a score", async () => {
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

it("asks for a credential and a role, and hides other organisations' runs and scores", async () => {
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
