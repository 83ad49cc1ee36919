import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import type { RunState, RunUpdate } from "../../src/domain/runs/run.ts";
import { listPauses } from "../../src/stores/runs/pauses.ts";
import { recordRun } from "../../src/stores/runs/run-record.ts";
import { getRun, type NewRun } from "../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, ownDatabase, pauseOpening, update, type Tenant } from "./rows.ts";

const own = ownDatabase();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await buildTenant(own.database);
});

const inOrg: <T>(work: Parameters<typeof own.database.org<T>>[1]) => Promise<T> = (work) =>
  own.database.org(tenant.org_id, work);
const node = (path: string, overrides: object = {}) =>
  ({ node_id: path, type: "set", path, state: "COMPLETED", attempts: 1, started_at: null, ...overrides }) as never;
const ended = { finished_at: new Date().toISOString() };

async function begin(overrides: Partial<NewRun> = {}) {
  const runId = await buildRun(own.database, tenant, overrides);
  return {
    runId,
    write: async (change: Partial<RunUpdate> = {}): Promise<RunState | undefined> =>
      (await inOrg((db) => recordRun(db, update(tenant, runId, change), [])))?.state,
    row: () => inOrg((db) => getRun(db, runId)),
    pauses: async () => (await inOrg((db) => listPauses(db, runId))).map(({ status }) => status),
    told: async () =>
      (
        await inOrg((db) =>
          db.query<{ type: string }>("select type from outbox where data ->> 'run_id' = $1 order by seq", [runId]),
        )
      ).map(({ type }) => type),
  };
}

describe("a pause", () => {
  it("is closed when its node ends, and no longer keeps the run PAUSED", async () => {
    const { write, pauses } = await begin();
    expect(await write({ state: "PAUSED", pauses_opened: [pauseOpening({ path: "a" })] })).toBe("PAUSED");
    await write({ nodes: [node("a", { ...ended, state: "CANCELLED" })] });
    expect(await pauses()).toEqual(["cancelled"]);
    expect(await write({ state: "RESUMED" })).toBe("RESUMED");
    expect(await write({ state: "PAUSED" })).toBe("RESUMED");
  });

  it("is closed immediately if it is opened after its node ended", async () => {
    const { write, pauses } = await begin();
    await write({ nodes: [node("a", { ...ended, state: "CANCELLED" })] });
    expect(await write({ state: "PAUSED", pauses_opened: [pauseOpening({ path: "a" })] })).toBe("RUNNING");
    expect(await pauses()).toEqual(["cancelled"]);
  });

  it("does not keep the run PAUSED once the workflow has its answer", async () => {
    const { write } = await begin();
    const opened = pauseOpening();
    await write({ pauses_opened: [opened] });
    expect(await write({ state: "PAUSED", pauses_taken: [opened.pause_id] })).toBe("RUNNING");
  });
});

describe("a run", () => {
  it("keeps its start input only until it starts, and its counts never fall", async () => {
    const { write, row } = await begin({ start_input: { plan: 1 } as never });
    const progress = { total_nodes: 3, started_nodes: 2, completed_nodes: 2, skipped_nodes: 0, current_node: "b" };
    await write({ progress });
    await write({ progress: { ...progress, completed_nodes: 1 } });
    const after = await row();
    expect([after?.start_input, after?.completed_nodes]).toEqual([{}, 2]);
  });

  it("that is a child run has no events of its own", async () => {
    const [part, whole] = await Promise.all([begin({ run_type: "sub_workflow" }), begin()]);
    await Promise.all([part.write({ state: "COMPLETED" }), whole.write({ state: "COMPLETED" })]);
    expect([await part.told(), await whole.told()]).toEqual([[], ["run.started", "run.completed"]]);
  });

  it("cites only what its models cite from the chunks that were found", async () => {
    const { write, row } = await begin();
    const found = node("kb", { ...ended, type: "knowledge", citations: [{ chunk_id: "1" }, { chunk_id: "2" }] });
    const answer = node("llm", { ...ended, type: "llm", citations: [{ chunk_id: "2" }] });
    await write({ nodes: [found, answer] });
    await write({ state: "COMPLETED" });
    expect((await row())?.citations).toEqual([{ chunk_id: "2", node_id: "llm" }]);
  });

  it("sums usage of its calls; cost is null if any call has none", async () => {
    const { runId, write, row } = await begin();
    for (const cost of [1, null])
      await inOrg((db) =>
        db.query(
          `insert into model_calls (call_id, org_id, project_id, run_id, path, attempt, step, model, input_tokens, output_tokens,
            cached_tokens, cost_usd, latency_ms, finish_reason, estimated)
           values ($1, $2, $3, $4, 'llm', 1, 1, 'm', 10, 5, 0, $5, 1, 'stop', false)`,
          [uuidv7(), tenant.org_id, tenant.project_id, runId, cost],
        ),
      );
    await write({ state: "COMPLETED" });
    const used = { input_tokens: 20, output_tokens: 10, total_tokens: 30, cost_usd: null, estimated: false };
    expect((await row())?.usage).toEqual(used);
  });
});
