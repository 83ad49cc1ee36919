import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { administer } from "../../support/database.ts";
import { startService, type OwnService } from "../../support/service.ts";
import { create } from "../knowledge/bases.ts";
import { settled } from "../knowledge/knowledge-bases.ts";
import { openTenant, slow, type ApiTenant } from "../tenant.ts";
import {
  doJob,
  experimentPath,
  importInto,
  makeDataset,
  makeEvaluator,
  makeExperiment,
  rowsPath,
  shouting,
} from "./evals.ts";

let own: OwnService;
let tenant: ApiTenant;
beforeAll(async () => {
  own = await startService();
  tenant = await openTenant(own);
});
afterAll(() => own?.close());

/** A trigger that rejects every write to a table, like a constraint that a release has defined wrongly. */
const refusing = (table: string, event: string, when = "true"): string => `
  create trigger refuse before ${event} on ${table} for each row when (${when}) execute function refuse();`;

async function makeMonitor(project_id: string, evaluator_id: string): Promise<string> {
  const monitor = { name: "M", project_id, evaluator_ids: [evaluator_id] };
  const { body } = await tenant.secret.post("/v2/evals/monitors", monitor);
  const path = `/v2/evals/monitors/${body.monitor_id}`;
  const condition = { evaluator_id, metric: "mean", op: "lt", threshold: 0.5, window_seconds: 60, min_samples: 1 };
  const alert = await tenant.secret.patch(`${path}/alert`, { enabled: true, conditions: [condition] });
  expect(alert.status, JSON.stringify(alert.body)).toBe(200);
  return path;
}

const named = (activity: string) => ({
  code: "internal_error",
  message: `The step ${activity} failed 6 times because of an internal error.`,
});

it(
  "ends every job that an internal error stops, with an error that names the failed step",
  { timeout: 180_000 },
  async () => {
    const { secret } = tenant;
    const [project_id, scored, empty, evaluator, { path, body: base }] = await Promise.all([
      tenant.deploy(shouting()),
      makeDataset(tenant),
      makeDataset(tenant),
      makeEvaluator(tenant, { name: "right", type: "exact_match" }),
      create(tenant),
    ]);
    const row = { inputs: { "in-0": "ab" }, expected_outputs: { "out-0": "AB" } };
    expect((await secret.post(rowsPath(scored), row)).status).toBe(201);
    const experiment = await makeExperiment(tenant, { project_id, dataset_id: scored, evaluator_ids: [evaluator] });
    // An experiment that is scored and finishes.
    const other = await makeEvaluator(tenant, { name: "free", type: "error_free" });
    const ending = await makeExperiment(tenant, { project_id, dataset_id: scored, evaluator_ids: [other] });
    // An experiment whose first lane fails while other lanes have waiting runs and rows that have not started.
    const [waiting, many] = await Promise.all([tenant.deploy(slow(60)), makeDataset(tenant)]);
    const rows = Array.from({ length: 12 }, () => ({ inputs: {}, expected_outputs: {} }));
    expect((await secret.post(rowsPath(many), { rows })).status).toBe(201);
    const broken = await makeExperiment(tenant, { project_id: waiting, dataset_id: many, max_concurrency: 8 });
    const watched = await makeMonitor(project_id, evaluator);
    await administer(
      own.databaseUrl,
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not today'; end $$;
    ${refusing("eval_import_rows", "insert")}
    ${refusing("scores", "insert", `new.evaluator_id = '${evaluator}'`)}
    ${refusing("experiment_rows", "update", `new.experiment_id = '${broken}' and new.place = 4 and new.state = 'running'`)}
    ${refusing("experiments", "update", "new.state = 'COMPLETED'")}
    ${refusing("eval_monitors", "update", "new.alert_state is distinct from old.alert_state")}
    ${refusing("knowledge_resources", "update", "new.status = 'indexed'")}
    ${refusing("knowledge_syncs", "update", "new.position is distinct from old.position")}`,
    );

    const [imported, job, ended, lane, resource, sync] = await Promise.all([
      importInto(tenant, empty, { source: { type: "jsonl", text: '{"inputs":{"in-0":"x"}}\n' } }),
      doJob(tenant, experiment, { kind: "run" }),
      doJob(tenant, ending, { kind: "run" }),
      doJob(tenant, broken, { kind: "run" }),
      secret.post(`${path}/resources`, { text: "Weirs hold water.", name: "weirs" }).then(({ status, body }) => {
        expect(status, JSON.stringify(body)).toBeLessThan(300);
        return settled(tenant, base.knowledge_base_id, body.resource_id);
      }),
      secret.post(`${path}/sync`, {}).then(async ({ body }) => {
        const get = () => secret.get(`${path}/syncs/${body.sync_id}`);
        await vi.waitFor(async () => expect((await get()).body.state).toBe("failed"), {
          timeout: 90_000,
          interval: 100,
        });
        return (await get()).body;
      }),
    ]);
    expect(imported).toMatchObject({ status: "failed", errors: [{ line: null, ...named("importRows") }] });
    expect(job).toMatchObject({ state: "FAILED", errors: [named("scoreRows")] });
    expect((await secret.get(experimentPath(experiment))).body).toMatchObject({
      state: "FAILED",
      error: named("scoreRows"),
    });
    // Finished rows are reported even if they could not be scored, and nothing runs forever.
    const counts = async (id: string) => (await secret.get(`${experimentPath(id)}/status`)).body.counts;
    const none = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
    expect(await counts(experiment)).toEqual({ ...none, rows: 1, completed: 1 });
    expect(lane).toMatchObject({ state: "FAILED", errors: [named("nextRows")] });
    expect(await counts(broken)).toEqual({ ...none, rows: 12, cancelled: 12 });
    await vi.waitFor(
      async () => {
        const { body } = await secret.get("/v2/runs", { query: { project_id: waiting, page_size: 200 } });
        const states = body.data.map(({ state }: { state: string }) => state);
        expect(states).toEqual(Array.from({ length: 9 }, () => "CANCELLED"));
      },
      { timeout: 60_000, interval: 200 },
    );
    expect(ended).toMatchObject({ state: "FAILED", errors: [named("endExperiment")] });
    expect((await secret.get(experimentPath(ending))).body).toMatchObject({
      state: "FAILED",
      verdict: null,
      error: named("endExperiment"),
    });
    expect(resource).toMatchObject({ status: "error", error: named("indexResource") });
    expect(sync).toMatchObject({ state: "failed", error: named("listSync") });
    // A monitor continues, and reports the error as long as it lasts.
    const monitor = async () => (await secret.get(watched)).body;
    await vi.waitFor(async () => expect((await monitor()).last_error).toBe(named("checkAlert").message), {
      timeout: 90_000,
      interval: 100,
    });
    expect(await monitor()).toMatchObject({ last_error_at: expect.any(String), status: "active" });
    await administer(own.databaseUrl, "drop trigger refuse on eval_monitors");
    await vi.waitFor(async () => expect(await monitor()).toMatchObject({ last_error: null, last_error_at: null }), {
      timeout: 30_000,
      interval: 100,
    });
  },
);
