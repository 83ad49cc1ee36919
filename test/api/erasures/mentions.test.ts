import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import type { Answer } from "../../support/client.ts";
import { eventually } from "../../support/scratch.ts";
import {
  doJob,
  experimentPath,
  importInto,
  makeDataset,
  makeEvaluator,
  makeExperiment,
  rowsPath,
} from "../evals/evals.ts";
import { echo, openTenant } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";

let mine: ApiTenant;
beforeAll(async () => {
  mine = await openTenant();
});

async function runOf(project_id: string, user_id: string, text: string): Promise<string> {
  const body = { project_id, user_id, inputs: { "in-0": text }, mode: "sync" };
  const { status, body: run } = await mine.secret.post("/v2/runs", body);
  expect([status, run.state]).toEqual([201, "COMPLETED"]);
  return run.run_id;
}

async function erase(user_id: string): Promise<Answer["body"]> {
  const { body: asked } = await mine.secret.post("/v2/erasures", { user_id });
  return eventually(
    "the erasure is done",
    async () => {
      const { body } = await mine.secret.get(`/v2/erasures/${asked.erasure_id}`);
      return body.state === "COMPLETED" ? body : undefined;
    },
    90_000,
  );
}

const exists = async (runId: string): Promise<boolean> => (await mine.secret.get(`/v2/runs/${runId}`)).status === 200;

/** The runs of a row of an experiment, the newest first. */
async function runsOfRow(experiment_id: string, row_id: string): Promise<string[]> {
  const { body } = await mine.secret.get("/v2/runs", { query: { run_type: "batch", page_size: 200 } });
  return body.data
    .filter(({ metadata }: Answer["body"]) => metadata.experiment_id === experiment_id && metadata.row_id === row_id)
    .map(({ run_id }: Answer["body"]) => run_id);
}

it("removes kept answers that have nothing of the user but the id of a run in their text", async () => {
  const [user, other] = [`named-${randomUUID()}`, `other-${randomUUID()}`];
  const project = await mine.deploy(echo());
  const [run, kept] = [await runOf(project, user, "one"), await runOf(project, other, "two")];
  const dataset = await makeDataset(mine);
  const about = (id: string, count = 1, more = "") => ({
    rows: Array.from({ length: count }, () => ({ inputs: { "in-0": `As in ${id}. ${more}` } })),
  });
  const asked = (id: string): ReadonlyArray<readonly [path: string, body: object]> => [
    ["/v2/run-jobs", { action: "cancel", filter: { run_id: [id] } }],
    ["/v2/run-jobs", { action: "cancel", filter: { parent_run_id: id.toUpperCase() } }],
    [rowsPath(dataset), about(id)],
    // From 1 MiB on an answer is in the blob store.
    [rowsPath(dataset), about(id, 3, "text ".repeat(100_000))],
  ];
  const requests = [...asked(run), ...asked(kept)].map(([path, body]) => ({ path, body, key: randomUUID() }));
  const send = async (): Promise<Array<readonly [status: number, replayed: boolean]>> => {
    const answers = [];
    for (const { path, body, key } of requests) {
      const answer = await mine.secret.post(path, body, { headers: { "idempotency-key": key } });
      answers.push([answer.status, answer.headers.get("idempotent-replayed") === "true"] as const);
    }
    return answers;
  };
  const statuses = [202, 202, 201, 201, 202, 202, 201, 201];
  expect(await send()).toEqual(statuses.map((status) => [status, false]));
  expect(await send()).toEqual(statuses.map((status) => [status, true]));

  const { removed } = await erase(user);
  expect(removed).toMatchObject({ runs: 1, idempotency_answers: 4, blobs: 1 });
  // What is kept no more is done once more.
  expect(await send()).toEqual(statuses.map((status, at) => [status, at >= 4]));
}, 120_000);

it("removes every run that an experiment has made of a row, not the newest alone", async () => {
  const [user, other] = [`asked-${randomUUID()}`, `other-${randomUUID()}`];
  const project_id = await mine.deploy(echo());
  await runOf(project_id, user, "of the user");
  await runOf(project_id, other, "of the other");
  const dataset_id = await makeDataset(mine);
  const imported = await importInto(mine, dataset_id, {
    source: { type: "runs", filter: { project_id }, limit: 10 },
    mode: "append",
  });
  expect(imported.counts.created, JSON.stringify(imported)).toBe(2);
  const { body: page } = await mine.secret.get(rowsPath(dataset_id));
  const rowOf = (text: string): string =>
    page.data.find(({ inputs }: Answer["body"]) => inputs["in-0"] === text).row_id;
  const [row, otherRow] = [rowOf("of the user"), rowOf("of the other")];
  const evaluator_ids = [await makeEvaluator(mine, { type: "exact_match" })];
  const make = () => makeExperiment(mine, { project_id, dataset_id, evaluator_ids, repetitions: 2 });
  const [again, gone] = [await make(), await make()];
  for (const id of [again, gone]) {
    expect((await doJob(mine, id, { kind: "run" })).state).toBe("COMPLETED");
    const job = { kind: "rerun_rows", row_ids: [row, otherRow] };
    expect((await doJob(mine, id, job)).state).toBe("COMPLETED");
  }
  // Of an experiment that is deleted the runs stay.
  expect((await mine.secret.delete(experimentPath(gone))).status).toBe(204);
  const of = async (rowId: string) => (await Promise.all([again, gone].map((id) => runsOfRow(id, rowId)))).flat();
  const [before, kept] = [await of(row), await of(otherRow)];
  expect([before.length, kept.length]).toEqual([8, 8]);
  // What repeats an earlier run of the row is found through it.
  const { body: replay } = await mine.secret.post("/v2/run-jobs", {
    action: "replay",
    filter: { run_id: [before.at(-1)] },
  });
  await eventually("the run is repeated", async () => {
    const { body } = await mine.secret.get(`/v2/run-jobs/${replay.job_id}`);
    return body.state === "COMPLETED" && body.counts.done === 1;
  });

  const { removed } = await erase(user);
  expect(removed.runs).toBe(1 + 8 + 1);
  expect(await Promise.all(before.map(exists))).toEqual(before.map(() => false));
  expect(await Promise.all(kept.map(exists))).toEqual(kept.map(() => true));
}, 150_000);
