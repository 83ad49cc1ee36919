import { beforeAll, expect, it } from "vitest";
import { hasToStop, isStopped } from "../../src/stores/around.ts";
import { isStopping } from "../../src/stores/runs/node-runs.ts";
import { getRun, requestCancel } from "../../src/stores/runs/runs.ts";
import { recordRun } from "../../src/stores/runs/run-record.ts";
import { buildRun, buildTenant, moveRun, ownDatabase, update, type Tenant } from "./rows.ts";

const own = ownDatabase();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await buildTenant(own.database);
});

const inOrg: <T>(work: Parameters<typeof own.database.org<T>>[1]) => Promise<T> = (work) =>
  own.database.org(tenant.org_id, work);
const secondsAgo = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();

/** A run, its child run, and the child run of that. */
async function threeRuns(): Promise<[string, string, string]> {
  const outer = await buildRun(own.database, tenant);
  const middle = await buildRun(own.database, tenant, { run_type: "sub_workflow", parent_run_id: outer });
  return [outer, middle, await buildRun(own.database, tenant, { run_type: "sub_workflow", parent_run_id: middle })];
}

it.each([
  ["nothing happened", undefined, false, false],
  ["it is to be cancelled itself", 2, true, true],
  ["the run around it is to be cancelled", 1, true, true],
  ["the outermost run is to be cancelled", 0, true, true],
])("tells whether a child run has to stop: %s", async (_what, cancelled, stops, stopped) => {
  const runs = await threeRuns();
  const run_id = runs[2];
  const request = cancelled === undefined ? undefined : runs[cancelled];
  if (request !== undefined) await inOrg((db) => requestCancel(db, request, null));
  expect(await inOrg((db) => hasToStop(db, { run_id, started_at: secondsAgo(1) }))).toBe(stops);
  expect(await inOrg((db) => isStopped(db, run_id))).toBe(stopped);
});

it("a run stops once an enclosing run has ended, and its workflow stops at its time limit", async () => {
  const [outer, , run_id] = await threeRuns();
  // The runs have a timeout of 60 seconds.
  expect(await inOrg((db) => hasToStop(db, { run_id, started_at: secondsAgo(59) }))).toBe(false);
  expect(await inOrg((db) => hasToStop(db, { run_id, started_at: secondsAgo(61) }))).toBe(true);
  await moveRun(own.database, tenant, outer, "RUNNING", "FAILED");
  expect(await inOrg((db) => isStopped(db, run_id))).toBe(true);
  expect(await inOrg((db) => hasToStop(db, { run_id, started_at: secondsAgo(1) }))).toBe(false);
});

it.each(["COMPLETED", "FAILED"] as const)(
  "a run with a cancel request ends as CANCELLED even if its workflow reports %s",
  async (state) => {
    const runId = await buildRun(own.database, tenant);
    await moveRun(own.database, tenant, runId, "RUNNING");
    await inOrg((db) => requestCancel(db, runId, "enough"));
    // The first reason counts.
    await inOrg((db) => requestCancel(db, runId, "sooner"));
    const error = { code: "http_status", message: "x", node_id: null, path: null, attempt: 1, retryable: false };
    await inOrg((db) => recordRun(db, update(tenant, runId, { state, state_reason: "other", error }), []));
    const { state: end, state_reason, error: why, finished_at } = (await inOrg((db) => getRun(db, runId))) ?? {};
    expect([end, state_reason, why]).toEqual(["CANCELLED", "enough", null]);
    expect(finished_at).not.toBeNull();
  },
);

it("a map with a recorded error stops, and so does everything in a run with a cancel request", async () => {
  const runId = await buildRun(own.database, tenant);
  const map = (path: string, error: object | null) => ({
    node_id: path,
    type: "map" as const,
    path,
    state: "RUNNING" as const,
    attempts: 1,
    started_at: null,
    finished_at: null,
    ...(error ? { error: { code: "x", message: "x", node_id: null, path: null, attempt: 1, retryable: false } } : {}),
  });
  await inOrg((db) => recordRun(db, update(tenant, runId, { nodes: [map("a", null), map("b", {})] }), []));
  const stops = (...paths: string[]) => inOrg((db) => isStopping(db, runId, paths));
  expect([await stops("a"), await stops("b"), await stops("a[1]/c", "b")]).toEqual([false, true, true]);
  await inOrg((db) => requestCancel(db, runId, null));
  expect(await stops("a")).toBe(true);
});
