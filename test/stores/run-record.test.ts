import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import {
  COALESCED_TRANSITIONS,
  NODE_STATES,
  RUN_STATES,
  RUN_TRANSITIONS,
  TERMINAL_STATES,
  isNodeEnd,
  isTerminal,
  type RunState,
} from "../../src/domain/runs/run.ts";
import { EVENT_TYPES, OVERSIZE } from "../../src/domain/webhooks/events.ts";
import { listNodeRuns, outputsSoFar } from "../../src/stores/runs/node-runs.ts";
import { closePause, listPauses, lockPause } from "../../src/stores/runs/pauses.ts";
import type { Db } from "../../src/stores/db.ts";
import { RUN_EVENT_TYPES, listRunEvents } from "../../src/stores/runs/run-events.ts";
import { getRunBeyond, getSettledRun, listPausesOf, runPositions } from "../../src/stores/runs/run-reads.ts";
import { lockRun, recordRun } from "../../src/stores/runs/run-record.ts";
import { getRun, insertRun } from "../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, moveRun, ownDatabase, pauseOpening, update, type Tenant } from "./rows.ts";

const own = ownDatabase();
let tenant: Tenant;

beforeAll(async () => {
  tenant = await buildTenant(own.database);
});

const inOrg: <T>(work: Parameters<typeof own.database.org<T>>[1]) => Promise<T> = (work) =>
  own.database.org(tenant.org_id, work);
const stateOf = async (runId: string): Promise<RunState | undefined> => (await inOrg((db) => getRun(db, runId)))?.state;
const eventsOf = async (runId: string): Promise<string[]> =>
  (await inOrg((db) => listRunEvents(db, runId, 0, 1000))).map((event) => `${event.seq} ${event.type}`);
const node = (id: string, overrides: object = {}) =>
  ({
    node_id: id,
    type: "set",
    path: id,
    state: "COMPLETED",
    attempts: 1,
    started_at: null,
    finished_at: null,
    ...overrides,
  }) as const;

describe("the states and events defined in SQL", () => {
  const inSql = async <T>(expression: string, values: unknown[] = []): Promise<T | undefined> =>
    (await own.database.system((db) => db.query<{ value: T }>(`select ${expression} as value`, values)))[0]?.value;

  it("match the states and transitions in TypeScript", async () => {
    const following = (from: RunState): string[] => [
      ...RUN_TRANSITIONS[from],
      ...COALESCED_TRANSITIONS.filter(([first]) => first === from).map(([, second]) => second),
    ];
    const sorted = (states: readonly string[] = []): string[] => states.toSorted();
    const transitions = await inSql<Record<string, string[]>>("run_transitions()");
    expect(Object.keys(transitions ?? {}).toSorted()).toEqual(sorted(RUN_STATES));
    for (const from of RUN_STATES) {
      expect(sorted(transitions?.[from])).toEqual(sorted(following(from)));
      expect([from, await inSql("is_run_end($1)", [from])]).toEqual([from, isTerminal(from)]);
    }
    for (const state of NODE_STATES)
      expect([state, await inSql("is_node_end($1)", [state])]).toEqual([state, isNodeEnd(state)]);
    expect(await inSql("event_outputs($1, 5)", [{ out: { v: "long" } }])).toEqual({ [OVERSIZE]: 13 });
  });

  it("match the event types in TypeScript", async () => {
    const text = await inSql<string>("(select prosrc from pg_proc where proname = 'record_run')");
    const written = [...(text ?? "").matchAll(/'((?:run|node)\.\w+)'/g)].map(([, type = ""]) => type);
    expect(written).toContain("run.finished");
    for (const type of written) expect(RUN_EVENT_TYPES).toContain(type);
    for (const state of ["started", "paused", "resumed", ...TERMINAL_STATES.map((each) => each.toLowerCase())])
      expect(EVENT_TYPES).toContain(`run.${state}`);
  });
});

describe("the state of a run", () => {
  it("follows the table of transitions, and SQL refuses every other change", async () => {
    const coalesced = COALESCED_TRANSITIONS.map((pair) => pair.join(">"));
    for (const from of RUN_STATES) {
      for (const to of RUN_STATES) {
        if (from === to) continue;
        const runId = await buildRun(own.database, tenant);
        await own.database.system((db) => db.query("alter table runs disable trigger runs_transition"));
        await own.database.system((db) => db.query("update runs set state = $2 where run_id = $1", [runId, from]));
        await own.database.system((db) => db.query("alter table runs enable trigger runs_transition"));
        const allowed =
          (RUN_TRANSITIONS[from] as readonly string[]).includes(to) || coalesced.includes(`${from}>${to}`);
        const change = inOrg((db) => db.query("update runs set state = $2 where run_id = $1", [runId, to]));
        if (allowed) await change;
        else await expect(change).rejects.toMatchObject({ code: "23514", constraint: "run_transition" });
      }
    }
  });

  it("accepts nothing more once it is terminal: no node, no pause, no event", async () => {
    const runId = await buildRun(own.database, tenant);
    await moveRun(own.database, tenant, runId, "RUNNING", "CANCELLED");
    const before = await eventsOf(runId);
    const late = update(tenant, runId, {
      nodes: [node("late", { state: "PAUSED", type: "approval" }), node("done")],
      pauses_opened: [pauseOpening({ path: "late", node_id: "late" })],
    });
    const event = {
      type: "node.started",
      at: new Date().toISOString(),
      data: { node_id: "late", path: "late" },
    } as const;
    expect(await inOrg((db) => recordRun(db, late, [event]))).toMatchObject({
      old_state: "CANCELLED",
      state: "CANCELLED",
      changed_nodes: [],
    });
    expect(await eventsOf(runId)).toEqual(before);
    expect(await inOrg((db) => listPauses(db, runId))).toEqual([]);
    expect(await inOrg((db) => listNodeRuns(db, runId, 10))).toEqual([]);
  });

  it("does not change once it is terminal, whatever is written later", async () => {
    const runId = await buildRun(own.database, tenant);
    await moveRun(own.database, tenant, runId, "RUNNING", "FAILED");
    const late = await inOrg((db) =>
      recordRun(db, update(tenant, runId, { state: "COMPLETED", outputs: { "out-0": { v: 1 } } }), []),
    );
    expect(late).toMatchObject({ old_state: "FAILED", state: "FAILED" });
    expect(await inOrg((db) => getRun(db, runId))).toMatchObject({ state: "FAILED", outputs: null });
  });

  it("is set by one of many concurrent ends", async () => {
    const runId = await buildRun(own.database, tenant);
    await moveRun(own.database, tenant, runId, "RUNNING");
    const ends = ["COMPLETED", "FAILED", "CANCELLED"] as const;
    const results = await Promise.all(
      Array.from({ length: 15 }, (_, i) =>
        inOrg((db) => recordRun(db, update(tenant, runId, { state: ends[i % 3] ?? "FAILED" }), [])),
      ),
    );
    expect(results.filter((result) => result?.old_state === "RUNNING")).toHaveLength(1);
    expect((await eventsOf(runId)).filter((event) => event.endsWith("run.finished"))).toHaveLength(1);
    const outbox = await inOrg((db) =>
      db.query("select type from outbox where data->>'run_id' = $1 order by seq", [runId]),
    );
    expect(outbox).toHaveLength(2);
  });

  it("causes one event per change, with IDs in the order of time", async () => {
    const runId = await buildRun(own.database, tenant);
    const end = () => inOrg((db) => recordRun(db, update(tenant, runId, { state: "FAILED" }), []));
    await end();
    await end();
    const told = await inOrg((db) =>
      db.query<{ event_id: string; type: string }>(
        "select event_id, type from outbox where data->>'run_id' = $1 order by seq",
        [runId],
      ),
    );
    expect(told.map(({ type }) => type)).toEqual(["run.started", "run.failed"]);
    const ids = told.map(({ event_id }) => event_id);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(ids).toEqual(ids.toSorted());
  });

  it("is not set back to PAUSED by a write that arrives after the last answer", async () => {
    const runId = await buildRun(own.database, tenant);
    const opened = pauseOpening();
    await inOrg((db) => recordRun(db, update(tenant, runId, { state: "PAUSED", pauses_opened: [opened] }), []));
    expect(await stateOf(runId)).toBe("PAUSED");
    await own.database.orgTransaction(tenant.org_id, async (db) => {
      await lockRun(db, runId);
      await closePause(
        db,
        opened.pause_id,
        "resolved",
        { action: "approve", data: null, comment: null, by: "x", at: new Date().toISOString() },
        [],
      );
      await recordRun(db, update(tenant, runId, { state: "RESUMED", temporal_run_id: "" }), []);
    });
    await inOrg((db) => recordRun(db, update(tenant, runId, { state: "PAUSED" }), []));
    expect(await stateOf(runId)).toBe("RESUMED");
  });

  it("is not set back to PAUSED by a write that waited while the last answer was given", async () => {
    const runId = await buildRun(own.database, tenant);
    const opened = pauseOpening();
    await inOrg((db) => recordRun(db, update(tenant, runId, { pauses_opened: [opened] }), []));
    const paused = () => inOrg((db) => recordRun(db, update(tenant, runId, { state: "PAUSED" }), []));
    const waits = async (): Promise<boolean> =>
      (
        await own.database.system((db) =>
          db.query("select from pg_stat_activity where wait_event_type = 'Lock' and query like '%record_run(%'"),
        )
      ).length > 0;
    const { write } = await own.database.orgTransaction(tenant.org_id, async (db) => {
      await lockRun(db, runId);
      const under = paused();
      await expect.poll(waits).toBe(true);
      const answer = { action: "approve", data: null, comment: null, by: "x", at: new Date().toISOString() };
      await closePause(db, opened.pause_id, "resolved", answer, []);
      return { write: under };
    });
    expect(await write).toMatchObject({ state: "RUNNING" });
  });

  it("can be written by sessions from before a migration of the table", async () => {
    const runId = await buildRun(own.database, tenant);
    const alter = (change: string) => own.database.system((db) => db.query(`alter table runs ${change}`));
    // One session, whose plans are made by the first writes.
    const write = (db: Db, state?: RunState) => recordRun(db, update(tenant, runId, state ? { state } : {}), []);
    await inOrg((db) => write(db, "PAUSED"));
    await alter("add column later jsonb not null default '{}'");
    expect(await inOrg((db) => write(db))).toMatchObject({ state: "RUNNING", row: null });
    await alter("drop column later");
    expect(await inOrg((db) => write(db, "COMPLETED"))).toMatchObject({ row: { run_id: runId, state: "COMPLETED" } });
  });

  it("closes the run's pauses when it becomes terminal", async () => {
    const runId = await buildRun(own.database, tenant);
    const opened = pauseOpening();
    await inOrg((db) => recordRun(db, update(tenant, runId, { state: "PAUSED", pauses_opened: [opened] }), []));
    await moveRun(own.database, tenant, runId, "CANCELLED");
    expect(await inOrg((db) => listPauses(db, runId))).toMatchObject([{ status: "cancelled" }]);
    expect(await inOrg((db) => closePause(db, opened.pause_id, "resolved", null, null))).toBe(false);
    expect(await inOrg((db) => lockPause(db, opened.pause_id))).toMatchObject({ status: "cancelled" });
  });
});

describe("the events of a run", () => {
  it("are numbered without gaps, even with concurrent branches", async () => {
    const runId = await buildRun(own.database, tenant);
    await moveRun(own.database, tenant, runId, "RUNNING");
    const draft = { type: "node.finished", at: new Date().toISOString(), data: {} } as const;
    await Promise.all(
      Array.from({ length: 20 }, () => inOrg((db) => recordRun(db, update(tenant, runId), [draft, draft]))),
    );
    await moveRun(own.database, tenant, runId, "COMPLETED");
    const events = await inOrg((db) => listRunEvents(db, runId, 0, 1000));
    expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 43 }, (_, i) => i + 1));
    expect(events.at(0)).toMatchObject({ type: "run.state", data: { state: "RUNNING" } });
    expect(events.at(-1)).toMatchObject({ type: "run.finished", data: { state: "COMPLETED" } });
    expect((await inOrg((db) => getRun(db, runId)))?.event_seq).toBe(43);
  });

  it("are read after a given number, page by page", async () => {
    const runId = await buildRun(own.database, tenant);
    await moveRun(own.database, tenant, runId, "RUNNING", "COMPLETED");
    expect(await eventsOf(runId)).toEqual(["1 run.state", "2 run.state", "3 run.finished"]);
    expect(await inOrg((db) => listRunEvents(db, runId, 1, 1))).toMatchObject([{ seq: 2 }]);
    expect(await inOrg((db) => listRunEvents(db, runId, 3, 10))).toEqual([]);
  });
});

describe("the nodes of a run", () => {
  it("are listed with the top level first and keep their final state", async () => {
    const runId = await buildRun(own.database, tenant);
    await inOrg((db) =>
      recordRun(
        db,
        update(tenant, runId, {
          nodes: [
            node("set-0", { path: "map-0[0]/set-0", started_at: "2026-01-01T00:00:00.000Z" }),
            node("map-0", { type: "map", state: "RUNNING", started_at: "2026-01-01T00:00:01.000Z" }),
            node("out-0", { type: "output", output: "done", started_at: "2026-01-01T00:00:02.000Z" }),
            node("out-1", { type: "output", output: "cut", truncated: true }),
          ],
        }),
        [],
      ),
    );
    await inOrg((db) => recordRun(db, update(tenant, runId, { nodes: [node("out-0", { state: "CANCELLED" })] }), []));
    const rows = await inOrg((db) => listNodeRuns(db, runId, 10));
    expect(rows.map((row) => row.path)).toEqual(["map-0", "out-0", "out-1", "map-0[0]/set-0"]);
    expect(rows[1]).toMatchObject({ state: "COMPLETED", output: "done" });
    expect(await inOrg((db) => listNodeRuns(db, runId, 2))).toHaveLength(2);
    expect(await inOrg((db) => outputsSoFar(db, runId))).toEqual({ "out-0": "done" });
  });
});

describe("a caller that waits for a run", () => {
  it("gets the row only once the run is terminal or paused", async () => {
    const runId = await buildRun(own.database, tenant);
    expect(await inOrg((db) => getSettledRun(db, runId))).toBeNull();
    await moveRun(own.database, tenant, runId, "RUNNING");
    expect(await inOrg((db) => getSettledRun(db, runId))).toBeNull();
    await moveRun(own.database, tenant, runId, "FAILED");
    expect(await inOrg((db) => getSettledRun(db, runId))).toMatchObject({ run_id: runId, state: "FAILED" });
  });

  it("gets the row once the run has advanced beyond the position it saw", async () => {
    const runId = await buildRun(own.database, tenant);
    const position = { run_id: runId, state: "PENDING", event_seq: 0 } as const;
    expect(await inOrg((db) => getRunBeyond(db, position))).toBeNull();
    await moveRun(own.database, tenant, runId, "RUNNING");
    expect(await inOrg((db) => getRunBeyond(db, position))).toMatchObject({ state: "RUNNING", event_seq: 1 });
    expect(await own.database.system((db) => runPositions(db, [runId, uuidv7()]))).toEqual([
      { run_id: runId, state: "RUNNING", event_seq: 1, text_id: null },
    ]);
  });
});

describe("pauses of many runs", () => {
  it("are listed up to a limit per run", async () => {
    const runs = [await buildRun(own.database, tenant), await buildRun(own.database, tenant)];
    for (const [index, runId] of runs.entries()) {
      const opened = Array.from({ length: index + 2 }, (_, i) => pauseOpening({ path: `map-0[${i}]/approval-0` }));
      await inOrg((db) => recordRun(db, update(tenant, runId, { state: "PAUSED", pauses_opened: opened }), []));
    }
    const found = await inOrg((db) => listPausesOf(db, runs, 2));
    expect(found.map((each) => each.run_id)).toEqual([runs[0], runs[0], runs[1], runs[1]]);
  });
});

describe("insertRun", () => {
  it("inserts one run per ID, however many try concurrently", async () => {
    const run_id = uuidv7();
    const made = await Promise.all(
      Array.from({ length: 10 }, () => buildRun(own.database, tenant, { run_id, tags: ["a", "a"] })),
    );
    expect(new Set(made)).toEqual(new Set([run_id]));
    expect(await inOrg((db) => db.query("select tag from run_tags where run_id = $1", [run_id]))).toEqual([
      { tag: "a" },
    ]);
    const row = await inOrg((db) => getRun(db, run_id));
    expect(row && (await inOrg((db) => insertRun(db, row)))).toBe(false);
  });
});
