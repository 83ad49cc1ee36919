import { beforeAll, describe, expect, it } from "vitest";
import { listNodeRuns } from "../../src/stores/runs/node-runs.ts";
import { closePause, listPauses } from "../../src/stores/runs/pauses.ts";
import { listRunEvents } from "../../src/stores/runs/run-events.ts";
import { recordRun, type RunEventDraft } from "../../src/stores/runs/run-record.ts";
import { getRun } from "../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, moveRun, ownDatabase, pauseOpening, update, type Tenant } from "./rows.ts";

// A worker that dies after a write, before Temporal knows of it, causes a retry that repeats the write.

const own = ownDatabase();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await buildTenant(own.database);
});

const inOrg: <T>(work: Parameters<typeof own.database.org<T>>[1]) => Promise<T> = (work) =>
  own.database.org(tenant.org_id, work);
const at = "2026-01-01T00:00:00.000Z";
const node = (state: "RUNNING" | "RETRYING" | "COMPLETED", attempts = 1) =>
  ({ node_id: "http-0", type: "http", path: "http-0", state, attempts, started_at: at, finished_at: null }) as const;
const event = (type: RunEventDraft["type"], data: object = {}): RunEventDraft => ({
  type,
  at,
  data: { node_id: "http-0", path: "http-0", type: "http", error: null, ...data },
});
const eventsOf = async (runId: string): Promise<string[]> =>
  (await inOrg((db) => listRunEvents(db, runId, 0, 1000))).map(({ type }) => type);

describe("a repeated write", () => {
  it("writes no event twice", async () => {
    const runId = await buildRun(own.database, tenant);
    const writes = [
      () => recordStep([node("RUNNING")], [event("node.started")]),
      () => recordStep([node("RETRYING")], [event("node.retrying", { attempt: 1, error: { code: "x" } })]),
      () => recordStep([node("RETRYING", 2)], [event("node.retrying", { attempt: 2 })]),
      () => recordStep([node("RETRYING", 2)], [event("node.retrying", { attempt: 2, error: { code: "x" } })]),
      () => recordStep([node("COMPLETED", 3)], [event("node.finished", { attempts: 3 })]),
    ];
    const recordStep = (nodes: Array<ReturnType<typeof node>>, events: RunEventDraft[]) =>
      inOrg((db) =>
        recordRun(
          db,
          update(tenant, runId, {
            nodes: nodes.map((each) => ({
              ...each,
              error: events[0]?.data["error"]
                ? { code: "x", message: "", node_id: "http-0", path: "http-0", attempt: 1, retryable: true }
                : null,
            })),
          }),
          events,
        ),
      );
    for (const write of writes) {
      await write();
      await write();
    }
    expect(await eventsOf(runId)).toEqual([
      "run.state",
      "node.started",
      "node.retrying",
      "node.retrying",
      "node.retrying",
      "node.finished",
    ]);
    expect(await inOrg((db) => listNodeRuns(db, runId, 10))).toMatchObject([{ state: "COMPLETED", attempts: 3 }]);
    expect(await inOrg((db) => getRun(db, runId))).toMatchObject({ event_seq: 6 });
  });

  it("does not pause a run again whose pause was answered in between", async () => {
    const runId = await buildRun(own.database, tenant);
    const pause = pauseOpening();
    const open = () =>
      inOrg((db) => recordRun(db, update(tenant, runId, { state: "PAUSED", pauses_opened: [pause] }), []));
    expect(await open()).toMatchObject({ state: "PAUSED" });
    expect(await open()).toMatchObject({ state: "PAUSED" });
    const answer = { action: "approve", data: null, comment: null, by: null, at };
    await inOrg((db) => closePause(db, pause.pause_id, "resolved", answer, null));
    await moveRun(own.database, tenant, runId, "RESUMED");
    expect(await open()).toMatchObject({ state: "RESUMED" });
    expect(await inOrg((db) => listPauses(db, runId))).toMatchObject([{ status: "resolved" }]);
    await moveRun(own.database, tenant, runId, "COMPLETED");
  });
});
