import { randomUUID } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import type { Answer } from "../../support/client.ts";
import { eventually } from "../../support/scratch.ts";
import { flow } from "../../engine/support.ts";
import { purgeRunJobs } from "../../../src/stores/runs/run-jobs.ts";
import { asking, echo, failing, openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
beforeAll(async () => {
  tenant = await openTenant();
});

type Flow = Parameters<ApiTenant["deploy"]>[0];

/** Creates a project with this many runs in this state. */
async function runsOf(definition: Flow, state: string, count: number): Promise<{ project_id: string; ids: string[] }> {
  const project_id = await tenant.deploy(definition);
  const ids = [];
  for (let n = 0; n < count; n += 1) {
    const { body } = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": `n${n}` }, tags: [`t${n}`] });
    ids.push(body.run_id as string);
  }
  for (const id of ids) await tenant.until(id, state);
  return { project_id, ids };
}
const start = (body: object, headers = {}): Promise<Answer> => tenant.secret.post("/v2/run-jobs", body, { headers });
const get = async (id: string): Promise<Answer["body"]> => (await tenant.secret.get(`/v2/run-jobs/${id}`)).body;

async function ended(id: string): Promise<Answer["body"]> {
  await eventually("the job has ended", async () => (await get(id)).finished_at !== null, 60_000);
  return get(id);
}
async function done(body: object): Promise<Answer["body"]> {
  const { status, body: job } = await start(body);
  expect(status, JSON.stringify(job)).toBe(202);
  return ended(job.job_id);
}
async function list(project_id: string): Promise<Answer["body"][]> {
  const { body } = await tenant.secret.get("/v2/runs", { query: { project_id, page_size: 200, order: "asc" } });
  return body.data;
}

describe("jobs on runs", () => {
  it("cancel exactly the runs that a filter finds; a dry run only counts them", async () => {
    const { project_id, ids } = await runsOf(asking(), "PAUSED", 3);
    const other = await runsOf(asking(), "PAUSED", 1);
    const dry = await start({ action: "cancel", filter: { project_id }, dry_run: true });
    expect([dry.status, dry.body]).toEqual([200, { action: "cancel", counts: { matched: 3 } }]);
    for (const id of ids) expect((await tenant.secret.get(`/v2/runs/${id}`)).body.state).toBe("PAUSED");

    const logged = async (): Promise<Answer["body"][]> =>
      (await tenant.secret.get("/v2/audit-log", { query: { operation: "createRunJob" } })).body.data;
    const before = (await logged()).length;
    await start({ action: "cancel", filter: { project_id }, dry_run: true });
    expect(await logged()).toHaveLength(before);
    const job = await done({ action: "cancel", filter: { project_id } });
    const log = await logged();
    expect([log.length, log[0].target.id]).toEqual([before + 1, job.job_id]);
    expect(job).toMatchObject({ state: "COMPLETED", counts: { matched: 3, done: 3, skipped: 0, failed: 0 } });
    for (const id of ids) await tenant.until(id, "CANCELLED");
    expect((await tenant.secret.get(`/v2/runs/${other.ids[0]}`)).body.state).toBe("PAUSED");
  });

  it("reject a filter with an empty list, which would match all runs", async () => {
    const { project_id, ids } = await runsOf(asking(), "PAUSED", 1);
    for (const name of ["state", "run_id"]) {
      const { status, body } = await start({ action: "cancel", filter: { project_id, [name]: [] } });
      expect([status, body.detail[0].loc]).toEqual([422, ["body", "filter", name]]);
    }
    expect((await tenant.secret.get(`/v2/runs/${ids[0]}`)).body.state).toBe("PAUSED");
  });

  it("do nothing if no run is in a state that allows the action", async () => {
    const { project_id, ids } = await runsOf(asking(), "PAUSED", 1);
    const completed = { project_id, state: ["COMPLETED"] };
    expect(await done({ action: "cancel", filter: completed })).toMatchObject({ counts: { matched: 0, done: 0 } });
    expect(await done({ action: "replay", filter: { project_id } })).toMatchObject({ counts: { matched: 0, done: 0 } });
    expect((await tenant.secret.get(`/v2/runs/${ids[0]}`)).body.state).toBe("PAUSED");
    const ended = { project_id: (await runsOf(echo(), "COMPLETED", 1)).project_id, state: ["COMPLETED"] };
    for (const action of ["cancel", "resume"]) {
      const { body } = await start({ action, filter: ended, dry_run: true });
      expect(body.counts, action).toEqual({ matched: 0 });
    }
  });

  it("create no run twice if a worker dies between creating a run and recording it", async () => {
    const { project_id, ids } = await runsOf(echo(), "COMPLETED", 1);
    await done({ action: "replay", filter: { project_id } });
    const made = (await list(project_id)).map(({ run_id }) => run_id).find((id) => id !== ids[0]);
    const job_id = uuidv7();
    // A job whose worker was killed while it processed a run; the starter has to find it.
    await tenant.withDatabase((database) =>
      database.org(tenant.org_id, (connection) =>
        connection.query(
          `insert into run_jobs (job_id, org_id, action, filter, created_by_type, created_by_id, state, matched, page, reached, checked_at)
           select $1, org_id, action, filter, created_by_type, created_by_id, 'RUNNING', 1, $2::jsonb, $3, now() - interval '1 hour'
           from run_jobs where org_id = $4 and filter->>'project_id' = $5`,
          [job_id, JSON.stringify([{ run_id: ids[0], new_run_id: made }]), ids[0], tenant.org_id, project_id],
        ),
      ),
    );
    expect(await ended(job_id)).toMatchObject({ state: "COMPLETED", counts: { done: 1, skipped: 0, failed: 0 } });
    expect((await list(project_id)).map(({ run_id }) => run_id).toSorted()).toEqual([ids[0], made].toSorted());
  });

  it("are kept for a month after they finish", async () => {
    const { body: job } = await start({ action: "cancel", filter: { tag: "nobody's" } });
    await ended(job.job_id);
    const purge = (): Promise<number> =>
      tenant.withDatabase((database) => database.system((connection) => purgeRunJobs(connection, 31 * 86_400_000, 10)));
    const age = (days: number) =>
      tenant.withDatabase((database) =>
        database.org(tenant.org_id, (connection) =>
          connection.query("update run_jobs set finished_at = now() - make_interval(days => $2) where job_id = $1", [
            job.job_id,
            days,
          ]),
        ),
      );
    await age(30);
    await purge();
    expect((await get(job.job_id)).job_id).toBe(job.job_id);
    await age(32);
    expect(await purge()).toBe(1);
    expect((await tenant.secret.get(`/v2/run-jobs/${job.job_id}`)).status).toBe(404);
  });

  it("rerun each run once with its inputs, and not the runs they create", async () => {
    const { project_id, ids } = await runsOf(echo(), "COMPLETED", 7);
    const job = await done({ action: "replay", filter: { project_id } });
    expect(job).toMatchObject({ state: "COMPLETED", counts: { matched: 7, done: 7, skipped: 0, failed: 0 } });
    await eventually("all have ended", async () => (await list(project_id)).every((run) => run.state === "COMPLETED"));
    const made = (await list(project_id)).filter(({ run_id }) => !ids.includes(run_id));
    expect(made.map(({ outputs }) => outputs["out-0"]).toSorted()).toEqual(ids.map((_, n) => `n${n}`));
    expect(made.map(({ tags }) => tags[0]).toSorted()).toEqual(ids.map((_, n) => `t${n}`));
    expect(made.map(({ resumed_from }) => resumed_from)).toEqual(
      expect.arrayContaining(ids.map((run_id) => ({ run_id, node_id: null, path: null }))),
    );
    const { body } = await tenant.secret.get("/v2/runs", { query: { resumed_from: ids[0] ?? "" } });
    expect(body.data).toHaveLength(1);
  });

  it("resume failed runs with the currently published version, if requested", async () => {
    const { project_id, ids } = await runsOf(failing(), "FAILED", 2);
    const repaired = await tenant.secret.post(`/v2/projects/${project_id}/versions`, { flow: failing("true") });
    expect(repaired.status, JSON.stringify(repaired.body)).toBe(201);
    const job = await done({ action: "resume", filter: { project_id, state: ["FAILED"] }, version: -1 });
    expect(job.counts).toMatchObject({ matched: 2, done: 2 });
    const made = (await list(project_id)).filter(({ run_id }) => !ids.includes(run_id));
    expect(made.map(({ resumed_from }) => resumed_from.run_id).toSorted()).toEqual(ids.toSorted());
    for (const { run_id } of made) await tenant.until(run_id, "COMPLETED");
  });

  it("skip child runs, unless the filter names their run type", async () => {
    const child = await tenant.deploy(echo());
    const node = { id: "sub-0", type: "subflow", config: { project_id: child, inputs: { "in-0": "'x'" } } };
    const parent = flow([node, { id: "out-0", type: "output" }], ["sub-0>out-0"]);
    const { ids } = await runsOf(parent, "COMPLETED", 1);
    const count = async (filter: object): Promise<number> =>
      (await start({ action: "replay", filter, dry_run: true })).body.counts.matched;
    expect(await count({ project_id: child })).toBe(0);
    expect(await count({ project_id: child, run_type: "sub_workflow" })).toBe(1);
    expect(await count({ parent_run_id: ids[0] })).toBe(1);
  });

  it("report errors by run, and continue with the other runs", async () => {
    const redacted = flow(
      [
        { id: "in-0", type: "input" },
        { id: "out-0", type: "output" },
      ],
      ["in-0>out-0"],
      { settings: { redact: ["$.inputs.in-0"] } },
    );
    const { project_id, ids } = await runsOf(redacted, "COMPLETED", 2);
    const job = await done({ action: "replay", filter: { project_id } });
    expect(job.counts).toEqual({ matched: 2, done: 0, skipped: 0, failed: 2 });
    expect(job.errors.map((error: { run_id: string }) => error.run_id).toSorted()).toEqual(ids.toSorted());
    expect(job.errors[0]).toMatchObject({ code: "validation_error", message: expect.stringContaining("not kept") });
  });

  it("start once per Idempotency-Key", async () => {
    const { project_id } = await runsOf(echo(), "COMPLETED", 2);
    const request = { action: "replay", filter: { project_id } };
    const key = { "Idempotency-Key": randomUUID() };
    const [one, other] = [await start(request, key), await start(request, key)];
    expect(other.body.job_id).toBe(one.body.job_id);
    await ended(one.body.job_id);
    expect(await list(project_id)).toHaveLength(4);
  });

  it("stop when they are aborted: runs already created stay, and no more are created", async () => {
    const { project_id } = await runsOf({ ...asking(), settings: { max_concurrent_runs: 3 } }, "PAUSED", 3);
    await done({ action: "cancel", filter: { project_id } });
    await eventually("cancelled", async () => (await list(project_id)).every(({ state }) => state === "CANCELLED"));
    const { body: blocking } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
    await tenant.until(blocking.run_id, "PAUSED");
    // Two runs take the remaining slots; the job waits with the third.
    const { body: job } = await start({ action: "replay", filter: { project_id, state: ["CANCELLED"] } });
    await eventually("it waits", async () => (await get(job.job_id)).counts.done === 2);
    const abort = await tenant.secret.post(`/v2/run-jobs/${job.job_id}/abort`);
    expect([abort.status, abort.body.abort_requested]).toEqual([202, true]);
    const end = await ended(job.job_id);
    expect(end).toMatchObject({ state: "ABORTED", counts: { matched: 3, done: 2, skipped: 0, failed: 0 } });
    await tenant.secret.post(`/v2/runs/${blocking.run_id}/cancel`);
    await tenant.until(blocking.run_id, "CANCELLED");
    expect((await list(project_id)).filter(({ state }) => state !== "CANCELLED")).toHaveLength(2);
    // Aborting an aborted job succeeds.
    expect((await tenant.secret.post(`/v2/run-jobs/${job.job_id}/abort`)).status).toBe(202);
  });

  it("wait while the flow's run limit is reached, and skip no run", async () => {
    const { project_id, ids } = await runsOf({ ...asking(), settings: { max_concurrent_runs: 1 } }, "PAUSED", 1);
    await done({ action: "cancel", filter: { project_id } });
    await tenant.until(ids[0] ?? "", "CANCELLED");
    const blocking = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
    const { body: job } = await start({ action: "replay", filter: { project_id, state: ["CANCELLED"] } });
    await eventually("it is under way", async () => (await get(job.job_id)).state === "RUNNING");
    expect((await get(job.job_id)).counts).toMatchObject({ done: 0, failed: 0 });
    // The run matches the filter only now; when the job began it did not.
    await tenant.secret.post(`/v2/runs/${blocking.body.run_id}/cancel`);
    expect((await ended(job.job_id)).counts).toEqual({ matched: 1, done: 1, skipped: 0, failed: 0 });
    expect(await list(project_id)).toHaveLength(3);
    const left = await tenant.withDatabase((database) =>
      database.org(tenant.org_id, (db) => db.query("select 1 from run_job_runs where job_id = $1", [job.job_id])),
    );
    expect(left).toEqual([]);
  });

  it("are listed, reject invalid requests, and belong to their organisation", async () => {
    const { body: job } = await start({ action: "cancel", filter: { tag: "none" } });
    await ended(job.job_id);
    const { body: page } = await tenant.secret.get("/v2/run-jobs", { query: { page_size: 1 } });
    expect(page.data[0].job_id).toBe(job.job_id);
    expect((await tenant.secret.post(`/v2/run-jobs/${job.job_id}/abort`)).body.code).toBe("conflict");

    for (const bad of [
      { action: "delete", filter: {} },
      { action: "cancel" },
      { action: "cancel", filter: { colour: "red" } },
      { action: "cancel", filter: {}, version: -1 },
    ])
      expect((await start(bad)).status, JSON.stringify(bad)).toBe(422);
    const viewer = await tenant.user("viewer");
    expect((await viewer.post("/v2/run-jobs", { action: "cancel", filter: {}, dry_run: true })).status).toBe(403);
    expect((await viewer.get(`/v2/run-jobs/${job.job_id}`)).status).toBe(200);

    const foreign = await openTenant();
    for (const id of [job.job_id, randomUUID()]) {
      expect((await foreign.secret.get(`/v2/run-jobs/${id}`)).status).toBe(404);
      expect((await foreign.secret.post(`/v2/run-jobs/${id}/abort`)).status).toBe(404);
    }
    const { project_id } = await runsOf(echo(), "COMPLETED", 1);
    const over = { action: "replay", filter: { project_id }, dry_run: true };
    expect((await foreign.secret.post("/v2/run-jobs", over)).body.counts.matched).toBe(0);
    expect((await tenant.public.get("/v2/run-jobs")).status).toBe(403);
    const nobody = await fetch(`${tenant.target.url}/v2/run-jobs`, { method: "POST" });
    expect(nobody.status).toBe(401);
  });
});
