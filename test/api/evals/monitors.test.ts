import { beforeAll, describe, expect, it, vi } from "vitest";
import { isSampled } from "../../../src/domain/evals/monitor.ts";
import { purgeMonitoredRuns } from "../../../src/stores/evals/eval-purge.ts";
import { purgeMonitors } from "../../../src/stores/evals/monitors.ts";
import type { Answer } from "../../support/client.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { doJob, makeDataset, makeEvaluator, makeExperiment, rowsPath, shouting } from "./evals.ts";

const MONITORS = "/v2/evals/monitors";
/** The relay polls every few seconds, and a monitor every second. */
const SOON = { timeout: 60_000, interval: 200 };

let tenant: ApiTenant;
let project_id: string;
let loud: string;
let judge: string;

beforeAll(async () => {
  tenant = await openTenant();
  project_id = await tenant.deploy(shouting());
  loud = await makeEvaluator(tenant, { name: "loud", type: "contains", config: { values: ["GOOD"] } });
  // No model is configured, so this judge always fails.
  judge = await makeEvaluator(tenant, { name: "kind", type: "llm_judge", config: { rubric: "Is it kind?" } });
});

async function makeMonitor(body: Record<string, unknown> = {}): Promise<string> {
  const answer = await tenant.secret.post(MONITORS, { name: "M", project_id, evaluator_ids: [loud], ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.monitor_id;
}

const get = async (id: string, part = "", query = {}): Promise<Answer["body"]> => {
  const { status, body } = await tenant.secret.get(`${MONITORS}/${id}${part}`, { query });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

async function run(input: string, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": input }, mode: "sync", ...body });
  return answer.body.run_id;
}

const statsOf = async (id: string): Promise<Record<string, number>> => (await get(id)).stats;

/** Waits until a monitor has scored this many runs. */
async function scored(id: string, count: number): Promise<void> {
  await vi.waitFor(async () => expect((await statsOf(id))["scored"]).toBe(count), SOON);
}

/** The alert events of a monitor. */
const eventsOf = (id: string): Promise<Array<{ type: string; data: Record<string, unknown> }>> =>
  tenant.withDatabase((database) =>
    database.system((db) =>
      db.query<{ type: string; data: Record<string, unknown> }>(
        "select type, data from outbox where data->>'monitor_id' = $1 order by seq",
        [id],
      ),
    ),
  );

describe("monitors", () => {
  it("reject versions that the flow does not have", async () => {
    const body = { name: "M", project_id, evaluator_ids: [loud], flow_versions: [1, 900, 901] };
    const refused = [
      { loc: ["body", "flow_versions", 1], msg: "The flow does not have version 900" },
      { loc: ["body", "flow_versions", 2], msg: "The flow does not have version 901" },
    ];
    const created = await tenant.secret.post(MONITORS, body);
    expect([created.status, created.body.detail]).toMatchObject([422, refused]);
    const path = `${MONITORS}/${await makeMonitor({ flow_versions: [1] })}`;
    const { flow_versions } = body;
    const changed = await tenant.secret.patch(path, { flow_versions });
    expect([changed.status, changed.body.detail]).toMatchObject([422, refused]);
    expect((await tenant.secret.patch(path, { flow_versions: null })).status).toBe(200);
  });

  it("sample runs by rate, cap and filter, and score them; a failed score is stored as an error", async () => {
    const all = await makeMonitor({ sampling_rate: 1, evaluator_ids: [loud, judge] });
    const half = await makeMonitor({ sampling_rate: 0.5 });
    const capped = await makeMonitor({ sampling_rate: 1, max_per_hour: 2 });
    const tagged = await makeMonitor({
      sampling_rate: 1,
      filter: { tags: ["a", "b"], metadata: { shop: 7 }, user_ids: ["ada-1"] },
    });
    const failed = await makeMonitor({ sampling_rate: 1, filter: { states: ["FAILED"] } });
    const flow = { ...shouting(), name: "another version" };
    await tenant.secret.post(`/v2/projects/${project_id}/versions`, { flow, publish: false });
    const other = await makeMonitor({ sampling_rate: 1, flow_versions: [2] });
    const off = await makeMonitor({ sampling_rate: 1, enabled: false });
    const batch = await makeMonitor({ sampling_rate: 1, filter: { run_types: ["batch"] } });

    const runs = [await run("good", { tags: ["a", "b"], metadata: { shop: 7 }, user_id: "ada-1" })];
    runs.push(await run("good", { tags: ["a"], metadata: { shop: 8 }, user_id: "ada-1" }), await run("fail"));
    for (let n = 0; n < 5; n++) runs.push(await run("bad"));
    const dataset_id = await makeDataset(tenant);
    await tenant.secret.post(rowsPath(dataset_id), { rows: [{ inputs: { "in-0": "good" } }] });
    await doJob(tenant, await makeExperiment(tenant, { project_id, dataset_id }), { kind: "run" });

    await scored(all, 8);
    // Every run has an error, because the judge has no model.
    expect(await statsOf(all)).toEqual({ eligible: 8, sampled: 8, scored: 8, errored: 8 });
    const sample = runs.filter((id) => isSampled(id, 0.5));
    await scored(half, sample.length);
    const halves = (await get(half, "/sampled-runs")).data.map((each: { run_id: string }) => each.run_id);
    expect(halves.toSorted()).toEqual(sample.toSorted());
    const cap = await statsOf(capped);
    // The cap is two per hour, so four if a new hour begins during the test.
    expect([cap["eligible"], [2, 4].includes(cap["sampled"] ?? 0)]).toEqual([8, true]);
    await scored(tagged, 1);
    await scored(failed, 1);
    await scored(batch, 1);
    expect(await statsOf(tagged)).toEqual({ eligible: 1, sampled: 1, scored: 1, errored: 0 });
    expect(await statsOf(failed)).toEqual({ eligible: 1, sampled: 1, scored: 1, errored: 1 });
    for (const id of [other, off])
      expect(await statsOf(id)).toEqual({ eligible: 0, sampled: 0, scored: 0, errored: 0 });
    expect([(await get(off)).status, (await get(all)).status]).toEqual(["disabled", "active"]);
    // Only the monitor receives the end of an experiment's run; no webhook event is written for it.
    const told = await tenant.withDatabase((database) =>
      database.system((db) =>
        db.query("select type from outbox where org_id = $1 and data->>'run_type' = 'batch'", [tenant.org_id]),
      ),
    );
    expect(told).toEqual([{ type: "part.completed" }]);

    const page = await get(all, "/sampled-runs", { order: "asc", page_size: 1 });
    expect(page.data[0]).toMatchObject({
      run_id: runs[0],
      flow_version: 1,
      state: "COMPLETED",
      scored: true,
      inputs_preview: { "in-0": "good" },
      outputs_preview: { "out-0": "GOOD" },
    });
    expect(page.data[0].scores.map(({ value, passed, error }: Answer["body"]) => [value, passed, error?.code])).toEqual(
      [loud, judge]
        .toSorted()
        .map((id) => (id === loud ? [true, true, undefined] : [null, null, "model_not_configured"])),
    );
    const next = await get(all, "/sampled-runs", { order: "asc", page_size: 1, cursor: page.cursor });
    expect(next.data[0].run_id).toBe(runs[1]);
    const filtered = async (query: object): Promise<number> => (await get(all, "/sampled-runs", query)).data.length;
    expect(
      await Promise.all(
        [
          { verdict: "passed" },
          { verdict: "failed" },
          { verdict: "error" },
          { verdict: "error", evaluator_id: loud },
          { max_score: 0.5 },
          { min_score: 0.5, evaluator_id: loud },
          { min_score: 0.5, evaluator_id: judge },
        ].map(filtered),
      ),
    ).toEqual([2, 5, 8, 1, 5, 2, 0]);

    const stats = await get(all, "/score-stats", { granularity: "day", evaluator_id: loud });
    // Two of seven passed, so the percentiles are those of 0 0 0 0 0 1 1.
    const figures = { n: 7, mean: 2 / 7, p10: 0, p50: 0, p90: 1, pass_rate: 2 / 7, errors: 1, eligible: 8, sampled: 8 };
    expect(stats.totals).toMatchObject(figures);
    expect(stats.totals.stddev).toBeCloseTo(0.487_950_036);
    expect(stats.buckets.reduce((sum: number, { n }: { n: number }) => sum + n, 0)).toBe(7);
    expect(stats.coverage).toEqual({ sampled: 1, scored: 1, errored: 1 });
    expect(stats.previous_period).toMatchObject({ to: stats.from, n: 0, mean: null, eligible: 0 });
    const grouped = await get(all, "/score-stats", { granularity: "day", group_by: "evaluator" });
    expect(Object.fromEntries(grouped.groups.map((each: Answer["body"]) => [each.group, each.totals.errors]))).toEqual({
      [loud]: 1,
      [judge]: 8,
    });
    const versions = await get(all, "/score-stats", {
      granularity: "week",
      group_by: "flow_version",
      evaluator_id: loud,
    });
    expect(versions.groups).toMatchObject([{ group: "1", totals: { n: 7, eligible: null } }]);
    expect(versions.totals).toMatchObject(figures);
    // The period is extended to whole hours, and an hour without samples has no mean.
    const later = await get(all, "/score-stats", { from: "2020-01-01T00:00:00Z", to: "2020-01-01T01:30:00Z" });
    expect(later).toMatchObject({ from: "2020-01-01T00:00:00.000Z", to: "2020-01-01T02:00:00.000Z" });
    expect(later.buckets.map(({ n, mean }: Answer["body"]) => [n, mean])).toEqual([
      [0, null],
      [0, null],
    ]);
    // RFC 3339 allows offsets that Postgres rejects, and this bucket ends after the last supported year.
    const far = await get(all, "/score-stats", { from: "9999-12-31T00:00:00+17:37", to: "9999-12-31T23:30:00Z" });
    expect(far.buckets).toHaveLength(42);
    const scores = (await tenant.secret.get(`/v2/evals/runs/${runs[0]}/scores`)).body.data;
    expect(new Set(scores.map(({ source }: Answer["body"]) => source))).toEqual(new Set(["evaluator"]));
    expect(scores.length).toBe(2);
  });

  it("notify once when an alert begins, with its runs, and once when it ends", async () => {
    const own = await tenant.deploy(shouting());
    const id = await makeMonitor({ project_id: own, sampling_rate: 1 });
    const alert = `${MONITORS}/${id}/alert`;
    expect(await get(id, "/alert")).toMatchObject({ enabled: false, conditions: [], state: { severity: "unknown" } });
    const condition = { evaluator_id: loud, metric: "pass_rate", op: "lt", threshold: 0.9, window_seconds: 3600 };
    const set = await tenant.secret.patch(alert, { enabled: true, conditions: [condition] });
    expect(set.status, JSON.stringify(set.body)).toBe(200);
    await vi.waitFor(async () => expect((await get(id, "/alert")).state.severity).toBe("no_data"), SOON);
    // Disabled for now, so that the alert does not begin with the first score.
    await tenant.secret.patch(alert, { enabled: false });
    // Returns a verdict for one run of three, and only a score for the others.
    const source = "function main({ output }) { return output === 'GOOD' ? { value: 1, passed: true } : 0.2; }";
    const rare = await makeEvaluator(tenant, { name: "rare", type: "code", config: { source } });
    const few = await makeMonitor({ project_id: own, sampling_rate: 1, evaluator_ids: [rare] });
    const needed = { ...condition, evaluator_id: rare, min_samples: 2 };
    await tenant.secret.patch(`${MONITORS}/${few}/alert`, { enabled: true, conditions: [needed] });
    const bad = [await run("bad", { project_id: own }), await run("bad", { project_id: own })];
    const good = await run("good", { project_id: own });
    await scored(id, 3);
    await tenant.secret.patch(alert, { enabled: true });
    await vi.waitFor(async () => expect((await get(id, "/alert")).state.severity).toBe("alert"), SOON);
    expect((await get(id, "/alert")).state.observed).toEqual([
      { evaluator_id: loud, metric: "pass_rate", value: 1 / 3, samples: 3, breached: true },
    ]);
    const seldom = { evaluator_id: rare, metric: "pass_rate", value: 1, samples: 1, breached: null };
    await vi.waitFor(
      async () => expect((await get(few, "/alert")).state).toMatchObject({ severity: "no_data", observed: [seldom] }),
      SOON,
    );
    const [event, ...more] = await eventsOf(id);
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      type: "evals.monitor.alert.triggered",
      data: { monitor_id: id, project_id: own, severity: "alert", reminder: false },
    });
    const named = event?.data["run_ids"] as string[];
    expect(named.toSorted()).toEqual(bad.toSorted());
    expect(named).not.toContain(good);
    // The same condition with a threshold that the runs meet.
    const better = await tenant.secret.patch(alert, { conditions: [{ ...condition, threshold: 0.3 }] });
    // A changed condition resets the state; the watcher may already have checked it.
    expect(["unknown", "ok"]).toContain(better.body.state.severity);
    await vi.waitFor(async () => expect((await get(id, "/alert")).state.severity).toBe("ok"), SOON);
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual([
      "evals.monitor.alert.triggered",
      "evals.monitor.alert.resolved",
    ]);
    // A silenced alert sends no events.
    const silenced_until = new Date(Date.now() + 3_600_000).toISOString();
    await tenant.secret.patch(alert, { silenced_until, conditions: [condition] });
    await vi.waitFor(async () => expect((await get(id, "/alert")).state.severity).toBe("alert"), SOON);
    expect((await eventsOf(id)).length).toBe(2);
  });

  it("can be changed, listed and deleted, with their limits", async () => {
    const before = (await tenant.secret.get("/v2/evals/monitor-limits")).body;
    expect(before).toMatchObject({ max_monitors: 20, max_evaluators_per_monitor: 10, max_sampled_runs_per_hour: 1000 });
    const id = await makeMonitor();
    expect((await tenant.secret.get("/v2/evals/monitor-limits")).body.used).toBe(before.used + 1);
    const path = `${MONITORS}/${id}`;
    const { headers } = await tenant.secret.get(path);
    const tag = headers.get("etag") ?? "";
    await tenant.secret.patch(`/v2/evals/evaluators/${loud}`, { config: { values: ["GOOD"], ignore_case: true } });
    const changed = await tenant.secret.patch(
      path,
      { name: "Other", evaluator_ids: [loud], sampling_rate: 0.2 },
      { headers: { "if-match": tag } },
    );
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    expect(changed.body).toMatchObject({
      name: "Other",
      sampling_rate: 0.2,
      evaluators: [{ evaluator_id: loud, version: 2 }],
    });
    expect((await tenant.secret.patch(path, { name: "X" }, { headers: { "if-match": tag } })).status).toBe(412);
    const ids = (await tenant.secret.get(MONITORS, { query: { project_id, enabled: true, page_size: 200 } })).body.data;
    expect(ids.map(({ monitor_id }: Answer["body"]) => monitor_id)).toContain(id);

    const unknown = "0197f0a0-0000-7000-8000-000000000009";
    const condition = { evaluator_id: loud, metric: "mean", op: "lt", threshold: 1, window_seconds: 60 };
    const refused = async (at: string, body: object): Promise<[number, string]> => {
      const answer = at === MONITORS ? await tenant.secret.post(at, body) : await tenant.secret.patch(at, body);
      return [answer.status, answer.body.code];
    };
    const wanted = { name: "M", project_id, evaluator_ids: [loud] };
    expect(await refused(MONITORS, { ...wanted, project_id: unknown })).toEqual([404, "not_found"]);
    expect(await refused(MONITORS, { ...wanted, evaluator_ids: [unknown] })).toEqual([404, "not_found"]);
    expect(await refused(MONITORS, { ...wanted, max_per_hour: 1001 })).toEqual([422, "validation_error"]);
    expect(await refused(MONITORS, { ...wanted, sampling_rate: 1.1 })).toEqual([422, "validation_error"]);
    const alert = `${path}/alert`;
    expect(await refused(alert, { enabled: true })).toEqual([422, "validation_error"]);
    expect(await refused(alert, { conditions: [{ ...condition, evaluator_id: judge }] })).toEqual([
      422,
      "validation_error",
    ]);
    await tenant.secret.patch(alert, { enabled: true, conditions: [condition] });
    expect(await refused(path, { evaluator_ids: [judge] })).toEqual([409, "conflict"]);
    expect(
      (
        await tenant.secret.get(`${path}/score-stats`, {
          query: { from: "2030-01-02T00:00:00Z", to: "2030-01-01T00:00:00Z" },
        })
      ).status,
    ).toBe(422);
    expect((await tenant.secret.get(`${path}/score-stats`, { query: { from: "2020-01-01T00:00:00Z" } })).status).toBe(
      422,
    );

    for (let n = before.used + 1; n < before.max_monitors; n++) await makeMonitor({ enabled: false });
    expect(await refused(MONITORS, wanted)).toEqual([409, "conflict"]);
    expect((await tenant.secret.delete(path)).status).toBe(204);
    expect((await tenant.secret.get("/v2/evals/monitor-limits")).body.used).toBe(before.max_monitors - 1);
    await tenant.withDatabase((database) =>
      database.system(async (db) => {
        while ((await purgeMonitoredRuns(db, 1000)) === 1000);
        while ((await purgeMonitors(db, 90, 1000)) === 1000);
      }),
    );
    expect((await tenant.secret.get(path)).status).toBe(404);
    expect((await tenant.secret.get(`${path}/alert`)).status).toBe(404);
    await makeMonitor();
  });
});
