import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
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
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { eraseUser, runOfUser } from "./users.ts";

let mine: ApiTenant;
beforeAll(async () => {
  mine = await openTenant();
});

const runOf = (project_id: string, user_id: string, text: string) => runOfUser(mine, project_id, user_id, text);
const erase = (user_id: string, tenant = mine) => eraseUser(tenant, user_id);

const exists = async (runId: string): Promise<boolean> => (await mine.secret.get(`/v2/runs/${runId}`)).status === 200;

/** The runs of a row of an experiment, newest first. */
async function runsOfRow(experiment_id: string, row_id: string): Promise<string[]> {
  const { body } = await mine.secret.get("/v2/runs", { query: { run_type: "batch", page_size: 200 } });
  return body.data
    .filter(({ metadata }: Answer["body"]) => metadata.experiment_id === experiment_id && metadata.row_id === row_id)
    .map(({ run_id }: Answer["body"]) => run_id);
}

it("deletes stored responses whose text has only the user's ID or the ID of one of the user's runs", async () => {
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
    // Responses of 1 MiB and more are stored in the blob store.
    [rowsPath(dataset), about(id, 3, "text ".repeat(100_000))],
  ];
  const long = (user_id: string) => {
    const inputs = { "in-0": "text ".repeat(100_000), user_id };
    return [rowsPath(dataset), { rows: [{ inputs }, { inputs }, { inputs }] }] as const;
  };
  const requests = [...asked(run), long(user), ...asked(kept), long(other)].map(([path, body]) => ({
    path,
    body,
    key: randomUUID(),
  }));
  const send = async (): Promise<Array<readonly [status: number, replayed: boolean]>> => {
    const answers = [];
    for (const { path, body, key } of requests) {
      const answer = await mine.secret.post(path, body, { headers: { "idempotency-key": key } });
      answers.push([answer.status, answer.headers.get("idempotent-replayed") === "true"] as const);
    }
    return answers;
  };
  const statuses = [202, 202, 201, 201, 201, 202, 202, 201, 201, 201];
  expect(await send()).toEqual(statuses.map((status) => [status, false]));
  expect(await send()).toEqual(statuses.map((status) => [status, true]));

  const { removed } = await erase(user);
  expect(removed).toMatchObject({ runs: 1, idempotency_answers: 5, blobs: 2 });
  // A request whose stored response was erased is executed again.
  expect(await send()).toEqual(statuses.map((status, at) => [status, at >= 5]));
}, 120_000);

it("deletes every run that an experiment made of a row, not only the newest", async () => {
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
  // The runs of a deleted experiment are kept.
  expect((await mine.secret.delete(experimentPath(gone))).status).toBe(204);
  const of = async (rowId: string) => (await Promise.all([again, gone].map((id) => runsOfRow(id, rowId)))).flat();
  const [before, kept] = [await of(row), await of(otherRow)];
  expect([before.length, kept.length]).toEqual([8, 8]);
  // A rerun of an earlier run of the row is found through that run.
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

it("evidence-rewrite: changes only the fields of the end user in the audit log, and keeps its entries searchable", async () => {
  const tenant = await openTenant();
  const { secret, org_id } = tenant;
  const ok = async ({ status, body }: Answer): Promise<Answer["body"]> => {
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    return body;
  };
  // Sent in upper case; the log stores UUIDs in lower case.
  const [ender, other] = [randomUUID().toUpperCase(), `other-${randomUUID()}`];
  const account = { email: `${randomUUID()}@corp.test`, role: "editor", password: "a long passphrase" };
  const person = await ok(await secret.post("/v2/users", account));
  await ok(await secret.patch(`/v2/users/${person.user_id}`, { role: "admin" }));
  const evaluator_ids = [await makeEvaluator(tenant, { type: "latency" })];
  const project_id = await tenant.deploy(echo());
  const watched = (user_ids: string[]) => {
    const filter = { user_ids, tags: ["admin", "before"], metadata: { role: "admin" } };
    return secret.post("/v2/evals/monitors", { name: `admin ${user_ids.length}`, project_id, evaluator_ids, filter });
  };
  const monitor = await ok(await watched([ender, other]));
  const long = await ok(await watched([ender, ...Array.from({ length: 20 }, (_, at) => `${at} ${"x".repeat(90)}`)]));
  const files = await tenant.deploy(
    flow(
      [
        { id: "doc-0", type: "files" },
        { id: "out-0", type: "output" },
      ],
      ["doc-0>out-0"],
    ),
  );
  const documents = `/documents/${org_id}/${files}/doc-0`;
  await ok(await secret.delete(`${documents}/${ender}`));
  await ok(await secret.delete(`${documents}/${encodeURIComponent(other)}`));
  const { run_id } = await ok(
    await secret.post("/v2/runs", { project_id, user_id: ender, inputs: { "in-0": "x" }, mode: "sync" }),
  );
  const given = { name: "tone", data_type: "categorical", value: "rude", comment: "said of the user" };
  const score = await ok(await secret.post(`/v2/evals/runs/${run_id}/scores`, given));
  await ok(await secret.patch(`/v2/evals/scores/${score.score_id}`, { comment: "said again" }));
  await ok(await secret.delete(`/v2/evals/scores/${score.score_id}`));
  // Writing a run ID into a name does not remove the audit entry.
  await makeDataset(tenant, { name: `As in ${run_id}` });

  const log = async (query: object = {}): Promise<Map<string, Answer["body"]>> => {
    const { data } = await ok(await secret.get("/v2/audit-log", { query: { page_size: 200, ...query } }));
    return new Map(data.map((entry: Answer["body"]) => [entry.entry_id, entry]));
  };
  const before = await log();
  const differing = async () => {
    const now = await log();
    return [...before]
      .filter(([id, entry]) => JSON.stringify(now.get(id)) !== JSON.stringify(entry))
      .map(([id]) => now.get(id));
  };
  expect([...before.values()].filter(({ operation }) => operation.endsWith("Score"))).toHaveLength(3);
  const words = ["admin", "before", "role", "editor", "user", "user_ids", person.user_id];
  await Promise.all(words.map((word) => erase(word, tenant)));
  expect(await differing()).toEqual([]);
  expect((await log({ target: person.user_id })).size).toBe(2);

  const { user_hash } = await erase(ender, tenant);
  const filterOf = ({ changes }: Answer["body"]) => changes.filter.after;
  const after = await differing();
  const byTarget = (id: string) => after.filter(({ target }) => target.id === id);
  expect(byTarget(monitor.monitor_id).map(filterOf)).toEqual([{ ...monitor.filter, user_ids: ["[erased]", other] }]);
  expect(byTarget(long.monitor_id).map(filterOf)).toEqual(["[erased]"]);
  expect(byTarget(score.score_id).map(({ operation, changes }) => [operation, changes])).toEqual(
    ["deleteScore", "changeScore", "createRunScore"].map((operation) => [operation, {}]),
  );
  expect(byTarget(user_hash).map(({ operation }) => operation)).toEqual(["deleteDocuments"]);
  expect(after).toHaveLength(6);
  expect([...(await log({ target: ender })).values()]).toEqual(byTarget(user_hash));
  expect((await log({ target: other })).size).toBe(1);
}, 120_000);
