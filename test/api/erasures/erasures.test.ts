import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { flow } from "../../engine/support.ts";
import type { Answer } from "../../support/client.ts";
import { decoded, textOf, withTemporal } from "../../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { eventually } from "../../support/scratch.ts";
import { startService, type OwnService } from "../../support/service.ts";
import { doJob, importInto, makeDataset, makeEvaluator, makeExperiment, rowsPath } from "../evals/evals.ts";
import { asking, echo, openTenant, slow, type ApiTenant } from "../tenant.ts";
import { placesOf } from "./places.ts";

const PATH = "/v2/erasures";
/** The erased user and another one; a user with the same ID in another organisation must stay, too. */
const ERASED = { user: "erased-user-5c1e7d", marker: "erased-text-83b0af" };
const KEPT = { user: "kept-user-0f92b4", marker: "kept-text-64de1a" };

let own: OwnService;
let mine: ApiTenant;
let theirs: ApiTenant;
let target: HttpTarget;
let stub: ModelStub;
beforeAll(async () => {
  [target, stub] = await Promise.all([startHttpTarget(), startModelStub()]);
  own = await startService({ env: { MILLRACE_SEAL_BLOBS: "off" } });
  [mine, theirs] = await Promise.all([openTenant(own), openTenant(own)]);
});
afterAll(async () => {
  await own?.close();
  await Promise.all([target?.close(), stub?.close()]);
});

type Made = Answer["body"];

async function made(tenant: ApiTenant, path: string, body: object | FormData, options = {}): Promise<Made> {
  const answer = await tenant.secret.post(path, body, options);
  expect([200, 201, 202], JSON.stringify(answer.body)).toContain(answer.status);
  return answer.body;
}

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };

interface Flows {
  readonly echo: string;
  readonly long: string;
  readonly pausing: string;
  readonly slow: string;
  readonly calling: string;
  readonly reading: string;
  readonly remembering: string;
  readonly triggered: string;
  readonly dataset: string;
  readonly hook: string;
  readonly trigger: string;
}

/** The data that an organisation has before any user appears. */
async function prepare(tenant: ApiTenant): Promise<Flows> {
  const { connection_id } = await made(tenant, "/v2/connections", {
    name: "stub",
    provider_id: "openai_compatible",
    scheme: "none",
    credential: { base_url: `${stub.url}/v1` },
  });
  const echoing = await tenant.deploy(echo());
  const template = { template: "{{ in-0 }}{% for i in (1..3000) %} {{ in-0 }}{% endfor %}" };
  const [long, pausing, delayed, calling, reading, remembering, triggered] = await Promise.all(
    [
      flow([input, { id: "tpl-0", type: "template", config: template }, out], ["in-0>tpl-0", "tpl-0>out-0"]),
      asking({ message: "{{ in-0 }}?" }),
      slow(600),
      flow(
        [
          input,
          { id: "sub-0", type: "subflow", config: { project_id: echoing, inputs: { "in-0": "nodes['in-0']" } } },
          out,
        ],
        ["in-0>sub-0", "sub-0>out-0"],
      ),
      flow([{ id: "doc-0", type: "files" }, out], ["doc-0>out-0"]),
      flow(
        [
          input,
          { id: "llm-0", type: "llm", config: { model: "m", connection_id, prompt: "{{in-0}}", memory: { turns: 2 } } },
          out,
        ],
        ["in-0>llm-0", "llm-0>out-0"],
      ),
      echo(),
    ].map((each) => tenant.deploy(each)),
  );
  const hook = await made(tenant, "/v2/webhooks/subscriptions", { url: `${target.url}/hook`, events: ["run.*"] });
  const trigger = await made(tenant, "/v2/triggers", {
    provider_id: "millrace",
    trigger_id: "run_event",
    project_id: triggered,
    config: { project_id: echoing },
    inputs: { "in-0": "payload.outputs['out-0']" },
  });
  return {
    echo: echoing,
    long: long ?? "",
    pausing: pausing ?? "",
    slow: delayed ?? "",
    calling: calling ?? "",
    reading: reading ?? "",
    remembering: remembering ?? "",
    triggered: triggered ?? "",
    dataset: await makeDataset(tenant),
    hook: hook["subscription_id"],
    trigger: trigger["id"],
  };
}

/** Creates everything that derives from a user's runs, each item with the marker in it. Returns what the checks need later. */
async function use(tenant: ApiTenant, flows: Flows, { user, marker }: typeof ERASED) {
  const { secret, org_id } = tenant;
  const run = (project_id: string, more: object = {}, options: object = {}) =>
    made(tenant, "/v2/runs", { project_id, inputs: { "in-0": marker }, user_id: user, ...more }, options);
  const key = { headers: { "idempotency-key": randomUUID() } };
  const labels = { metadata: { note: marker }, tags: [marker] };
  const plain = await run(flows.echo, { mode: "sync", ...labels }, key);
  const long = await run(flows.long, { mode: "sync" });
  const deep = await run(flows.calling, { mode: "sync" });
  const paused = await run(flows.pausing);
  const answered = await run(flows.pausing);
  const under_way = await run(flows.slow);
  const later = await run(flows.echo, { run_at: new Date(Date.now() + 3_600_000).toISOString() });
  const repeated = await made(tenant, "/v2/run-jobs", { action: "replay", filter: { run_id: [plain["run_id"]] } });
  await eventually("the run is replayed", async () => {
    const { body } = await secret.get(`/v2/run-jobs/${repeated["job_id"]}`);
    return body.state === "COMPLETED";
  });
  await tenant.until(paused["run_id"], "PAUSED");
  const { pauses } = await tenant.until(answered["run_id"], "PAUSED");
  const answer = { pause_id: pauses[0].pause_id, action: "approve", data: { note: marker } };
  await made(tenant, `/v2/runs/${answered["run_id"]}/resume`, answer, {
    headers: { "idempotency-key": randomUUID() },
  });
  await tenant.until(answered["run_id"], "COMPLETED");
  await tenant.until(under_way["run_id"], "RUNNING");

  stub.answer(({ body }) => ({ text: [`heard ${body.messages.at(-1).content}`] }));
  await run(flows.remembering, { mode: "sync" });
  const talk = `/v2/projects/${flows.remembering}/conversations/${user}`;
  expect((await secret.patch(talk, { title: marker })).status).toBe(200);
  const form = new FormData();
  form.set("file", new File([`# ${marker}\n\n${`${marker} `.repeat(4000)}`], `${marker}.md`));
  const where = { org: org_id, user_id: user, flow_id: flows.reading, node_id: "doc-0" };
  const upload = await made(tenant, "/upload_to_storage_user", form, {
    query: where,
    headers: { "idempotency-key": randomUUID() },
  });
  const read = await run(flows.reading, { inputs: {}, mode: "sync" });
  expect(read["state"]).toBe("COMPLETED");

  // The stored response contains the comment and the run, but not the user.
  const given = { name: "tone", data_type: "categorical", value: marker, comment: marker };
  const score = await made(tenant, `/v2/evals/runs/${plain["run_id"]}/scores`, given, {
    headers: { "idempotency-key": randomUUID() },
  });
  await secret.patch(`/v2/evals/scores/${score["score_id"]}`, { comment: `${marker} again` });
  await made(tenant, `/inference/v0/feedback/${org_id}/${flows.echo}`, {
    run_id: plain["run_id"],
    feedback: "negative",
    comment: marker,
  });
  const source = { type: "runs", filter: { project_id: flows.echo }, limit: 10 };
  const imported = await importInto(tenant, flows.dataset, { source, mode: "append" });
  expect(imported.counts.created, JSON.stringify(imported)).toBeGreaterThan(0);
  await made(tenant, "/v2/run-jobs", { action: "cancel", filter: { user_id: user, tag: "nobody's" } });
  return { plain, long, deep, paused, answered, under_way, later, upload, score, read };
}

function blobsOf(texts: readonly string[], org: string): string[] {
  const files = readdirSync(own.blobDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => file.includes(org))
    .filter((file) => texts.some((text) => readFileSync(file).includes(text)));
}

/** IDs of the Temporal workflows whose histories contain one of the texts. */
async function historiesWith(texts: readonly string[]): Promise<string[]> {
  const queues = ["runs", "nodes", "ingest", "background", "webhooks", "house"].map(
    (name) => `TaskQueue = '${own.taskQueue}-${name}'`,
  );
  return withTemporal(own.temporalAddress, async (client) => {
    const found: string[] = [];
    for await (const { workflowId, runId } of client.workflow.list({ query: queues.join(" or ") })) {
      const history = await client.workflow
        .getHandle(workflowId, runId)
        .fetchHistory()
        .catch(() => undefined);
      if (history === undefined) continue;
      const text = textOf(await decoded({ workflowId, history }));
      if (texts.some((each) => text.includes(each))) found.push(workflowId);
    }
    return [...new Set(found)];
  });
}

async function ended(tenant: ApiTenant, id: string): Promise<Made> {
  return eventually(
    "the erasure is done",
    async () => {
      const { body } = await tenant.secret.get(`${PATH}/${id}`);
      return body.state === "COMPLETED" ? body : undefined;
    },
    150_000,
  );
}

it("erases all data of one user from every table, the blobs and Temporal, and no one else's data", async () => {
  const [flows, foreign] = await Promise.all([prepare(mine), prepare(theirs)]);
  const made_of = await use(mine, flows, ERASED);
  const kept = await use(mine, flows, KEPT);
  const others = await use(theirs, foreign, { user: ERASED.user, marker: KEPT.marker });
  const experiment = await makeExperiment(mine, {
    project_id: flows.echo,
    dataset_id: flows.dataset,
    evaluator_ids: [await makeEvaluator(mine, { type: "exact_match" })],
  });
  expect((await doJob(mine, experiment, { kind: "run" })).state).toBe("COMPLETED");
  expect((await doJob(mine, experiment, { kind: "export" })).state).toBe("COMPLETED");
  const monitor = await made(mine, "/v2/evals/monitors", {
    name: "watches",
    project_id: flows.pausing,
    evaluator_ids: [await makeEvaluator(mine, { type: "latency" })],
    filter: { user_ids: [ERASED.user, KEPT.user] },
  });
  await eventually("deliveries are made", async () => {
    const { body } = await mine.secret.get(`/v2/webhooks/subscriptions/${flows.hook}/deliveries`, {
      query: { page_size: 200, status: "delivered" },
    });
    return body.data.length > 10;
  });
  const before = await placesOf(mine, [ERASED.marker, ERASED.user], theirs.org_id);
  expect(before).toEqual(
    expect.arrayContaining([
      "audit_log.changes",
      "conversation_turns.said",
      "conversations.title",
      "conversations.user_id",
      "documents.user_id",
      "eval_dataset_rows.inputs",
      "eval_imports.preview",
      "eval_monitors.filter",
      "idempotency_keys.response",
      "node_runs.output",
      "outbox.data",
      "run_jobs.filter",
      "run_pauses.message",
      "run_pauses.resolution",
      "runs.inputs",
      "runs.user_id",
      "scores.comment",
    ]),
  );
  expect(blobsOf([ERASED.marker], mine.org_id).length).toBeGreaterThan(2);
  const histories = await historiesWith([ERASED.marker, ERASED.user]);
  expect(histories.length).toBeGreaterThan(8);
  const { body: rowsBefore } = await mine.secret.get(rowsPath(flows.dataset), { query: { page_size: 200 } });

  const asked = await mine.secret.post(PATH, { user_id: ERASED.user });
  expect(asked.status, JSON.stringify(asked.body)).toBe(202);
  const { erasure_id } = asked.body;
  const hash = createHash("sha256").update(`${mine.org_id}\n${ERASED.user}`).digest("hex");
  expect(asked.body).toMatchObject({ project_id: null, user_hash: hash, removed: {}, finished_at: null });
  const again = await mine.secret.post(PATH, { user_id: ERASED.user });
  expect([again.status, again.body.erasure_id]).toEqual([202, erasure_id]);
  const report = await ended(mine, erasure_id);

  // Checked first, because work in the background could remove these soon even if the erasure does not wait for it.
  const left = (await historiesWith([ERASED.marker, ERASED.user])).filter((id) => histories.includes(id));
  expect(await placesOf(mine, [ERASED.marker, ERASED.user], theirs.org_id)).toEqual([]);
  expect(await placesOf(mine, [hash], theirs.org_id)).toEqual([
    "audit_log.changes",
    "audit_log.target_id",
    "erasures.user_hash",
  ]);
  expect(blobsOf([ERASED.marker], mine.org_id)).toEqual([]);
  const ofOthers = await mine.withDatabase((database) =>
    database.org(theirs.org_id, (db) => db.query<{ id: string }>("select 'run-' || run_id as id from runs")),
  );
  expect(left.filter((id) => !ofOthers.some((each) => each.id === id))).toEqual([]);
  const { removed } = report;
  expect(removed).toMatchObject({
    conversations: 1,
    documents: 1,
    exports: 1,
    scores: expect.any(Number),
    pauses: 2,
    idempotency_answers: expect.any(Number),
    webhook_deliveries: expect.any(Number),
    experiment_rows: expect.any(Number),
    dataset_rows: expect.any(Number),
    monitor_filters: 1,
    run_job_filters: 1,
  });
  // The user's nine runs, the child run, the rerun, and the runs that triggers and the experiment derived from them.
  expect(removed.runs).toBeGreaterThan(14);
  for (const run of Object.values(made_of))
    if (run["run_id"]) expect((await mine.secret.get(`/v2/runs/${run["run_id"]}`)).status).toBe(404);

  // The data of all other users is unchanged and still works.
  const stays: ReadonlyArray<readonly [ApiTenant, Flows, Awaited<ReturnType<typeof use>>, string]> = [
    [mine, flows, kept, KEPT.user],
    [theirs, foreign, others, ERASED.user],
  ];
  for (const [tenant, of, run, user] of stays) {
    const get = async (path: string) => (await tenant.secret.get(path)).body;
    expect(await get(`/v2/runs/${run.plain["run_id"]}`)).toMatchObject({
      user_id: user,
      outputs: { "out-0": KEPT.marker },
    });
    expect((await get(`/v2/runs/${run.long["run_id"]}`)).outputs["out-0"]).toContain(`${KEPT.marker} ${KEPT.marker}`);
    expect((await get(`/v2/runs/${run.under_way["run_id"]}`)).state).toBe("RUNNING");
    expect((await get(`/v2/runs/${run.later["run_id"]}`)).state).toBe("PENDING");
    expect((await get(`/v2/evals/scores/${run.score["score_id"]}`)).comment).toBe(`${KEPT.marker} again`);
    const talk = await get(`/v2/projects/${of.remembering}/conversations/${user}`);
    expect(talk.data[0].question).toBe(KEPT.marker);
    const { pauses } = await get(`/v2/runs/${run.paused["run_id"]}`);
    const answer = { pause_id: pauses[0].pause_id, action: "approve" };
    await made(tenant, `/v2/runs/${run.paused["run_id"]}/resume`, answer);
    await tenant.until(run.paused["run_id"], "COMPLETED");
    const read = await made(tenant, "/v2/runs", { project_id: of.reading, inputs: {}, user_id: user, mode: "sync" });
    expect(JSON.stringify(read["outputs"])).toContain(KEPT.marker);
    const { data } = await get(`${rowsPath(of.dataset)}?page_size=200`);
    expect(data.length).toBeGreaterThan(0);
    expect(JSON.stringify(data)).not.toContain(ERASED.marker);
    const { row_count } = await get(`/v2/evals/datasets/${of.dataset}`);
    expect(row_count).toBe(data.length);
  }
  expect(rowsBefore.data.length).toBeGreaterThan((await mine.secret.get(rowsPath(flows.dataset))).body.data.length);
  const rows = (await mine.secret.get(`/v2/evals/experiments/${experiment}/rows`)).body.data;
  expect(rows.length).toBeGreaterThan(0);
  const { filter } = (await mine.secret.get(`/v2/evals/monitors/${monitor["monitor_id"]}`)).body;
  expect(filter.user_ids).toEqual(["[erased]", KEPT.user]);
}, 400_000);
