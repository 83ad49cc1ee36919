import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPlanCache } from "../../../src/services/projects/plans.ts";
import { NO_TRACES } from "../../../src/services/runs/run-traces.ts";
import { createRunRecorder, type RunRecorder } from "../../../src/services/runs/run-recorder.ts";
import { compileFlow } from "../../../src/domain/flow/plan/compile.ts";
import type { NodeReport, RunReport } from "../../../src/domain/runs/run-report.ts";
import { createFileBlobStore, loadValue, type BlobStore } from "../../../src/platform/blobs/blobs.ts";
import { insertFlowVersion } from "../../../src/stores/projects/flow-versions.ts";
import { getNodeRun, listNodeRuns } from "../../../src/stores/runs/node-runs.ts";
import { listRunEvents } from "../../../src/stores/runs/run-events.ts";
import { openRunFeed, type RunFeed } from "../../../src/stores/runs/run-feed.ts";
import { getRun } from "../../../src/stores/runs/runs.ts";
import type { Cancellation } from "../../../workflows/engine/cancellation.ts";
import { RunRecord } from "../../../workflows/engine/record.ts";
import type { Work } from "../../../workflows/engine/work.ts";
import { buildRun, buildTenant, ownDatabase, type Tenant } from "../../stores/rows.ts";
import { flow } from "../../support/flows.ts";

const own = ownDatabase();
let tenant: Tenant;
let folder: string;
let feed: RunFeed;
let blobs: BlobStore;
let deps: Parameters<typeof createRunRecorder>[0];
let recorder: RunRecorder;

const NOWHERE = { $blob: "", size: 0 };

beforeAll(async () => {
  tenant = await buildTenant(own.database);
  await own.database.org(tenant.org_id, (db) =>
    insertFlowVersion(db, {
      ...tenant,
      version: 1,
      definition: flow(),
      plan: compileFlow(flow()),
      content_hash: "a",
      notes: "",
      created_by: null,
      rights: null,
    }),
  );
  folder = await mkdtemp(join(tmpdir(), "millrace-test-"));
  feed = openRunFeed(own.database, () => undefined);
  blobs = await createFileBlobStore(folder);
  deps = {
    db: own.database,
    blobs,
    feed,
    plans: createPlanCache(own.database),
    checkAfterMs: 60_000,
    observer: { recorded: () => undefined },
    traces: NO_TRACES,
  };
  recorder = createRunRecorder(deps);
});
afterAll(async () => {
  await feed?.close();
  await rm(folder, { recursive: true, force: true });
});

const AT = "2026-01-01T00:00:00.000Z";
const node = (path: string, more: Partial<NodeReport> = {}): NodeReport => ({
  node_id: "in-0",
  type: "http",
  path,
  state: "COMPLETED",
  attempts: 1,
  started_at: AT,
  finished_at: AT,
  value: { v: path },
  ...more,
});
const running = (path: string): NodeReport => node(path, { state: "RUNNING", finished_at: null });

const text = (json: unknown): string => (typeof json === "string" ? json : JSON.stringify(json));

async function begin() {
  const run_id = await buildRun(own.database, tenant, { total_nodes: 30 });
  const report = (...nodes: NodeReport[]): RunReport => ({
    run: { ...tenant, run_id, flow_version: 1, temporal_run_id: "t-1", started_at: AT },
    progress: { total_nodes: 30, started_nodes: 1, completed_nodes: 1, skipped_nodes: 0, current_node: "in-0" },
    nodes,
  });
  const inOrg: typeof own.database.org = (_, work) => own.database.org(tenant.org_id, work);
  return {
    report,
    record: (...nodes: NodeReport[]) => recorder.record(report(...nodes)),
    row: () => inOrg("", (db) => getRun(db, run_id)),
    nodes: () => inOrg("", (db) => listNodeRuns(db, run_id, 100)),
    detail: async (path: string) => {
      const found = await inOrg("", (db) => getNodeRun(db, run_id, path));
      if (!found) throw new Error(`${path} is not recorded`);
      return found;
    },
    events: async () => {
      const events = await inOrg("", (db) => listRunEvents(db, run_id, 0, 1000));
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
      return events.flatMap(({ type, data }) => (type.startsWith("node.") ? [`${type} ${text(data["path"])}`] : []));
    },
  };
}

describe("the record of nodes that finish at the same time", () => {
  it("contains each node with one start and one end, and the progress of the run", async () => {
    const { report, row, nodes, events } = await begin();
    const paths = Array.from({ length: 20 }, (_, at) => `map-0[${at}]/http-0`);
    const states = await Promise.all(
      paths.map((path, at) =>
        recorder.record({
          ...report(node(path)),
          progress: { ...report().progress, started_nodes: 20, completed_nodes: at + 1 },
        }),
      ),
    );
    expect(new Set(states.map(({ state }) => state))).toEqual(new Set(["RUNNING"]));
    expect((await nodes()).map(({ path, state, output }) => [path, state, output]).toSorted()).toEqual(
      paths.map((path) => [path, "COMPLETED", path]).toSorted(),
    );
    const told = await events();
    expect(told.toSorted()).toEqual(
      paths.flatMap((path) => [`node.started ${path}`, `node.finished ${path}`]).toSorted(),
    );
    for (const path of paths)
      expect(told.indexOf(`node.started ${path}`)).toBeLessThan(told.indexOf(`node.finished ${path}`));
    expect(await row()).toMatchObject({ state: "RUNNING", started_nodes: 20, completed_nodes: 20 });
  });

  it("writes no event twice and keeps the first result if a presumed dead attempt reports too", async () => {
    const { record, nodes, events } = await begin();
    await Promise.all([
      record(running("other")),
      record(running("http-0")),
      record(running("http-0")),
      record(node("http-0", { announced: true, value: { v: "first" } })),
      record(running("http-0")),
      record(node("http-0", { value: { v: "second" } })),
    ]);
    expect(await events()).toEqual(["node.started other", "node.started http-0", "node.finished http-0"]);
    expect((await nodes()).find(({ path }) => path === "http-0")).toMatchObject({
      state: "COMPLETED",
      output: "first",
    });
  });

  it("is written even if another node's record fails", async () => {
    const { record, nodes } = await begin();
    const results = await Promise.allSettled([
      record(node("a")),
      record(node("b")),
      // Larger than its column allows.
      record(node("bad", { attempts: 1e12 })),
      record(node("c")),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect((await nodes()).map(({ path }) => path).toSorted()).toEqual(["a", "b", "c"]);
  });
});

describe("reports returned by failed activities", () => {
  it("are in the order in which they were made, whichever activity failed first", async () => {
    const { report, detail } = await begin();
    // Carrying reports uses neither the work nor the cancellation.
    const gathered = new RunRecord(report().run, {} as Work, {} as Cancellation);
    const retrying = (attempts: number): NodeReport => node("again", { state: "RETRYING", attempts });
    const fail: Array<() => void> = [];
    const carry = (attempts: number): Promise<void> => {
      gathered.note(retrying(attempts));
      return gathered.carry(
        () => new Promise((_, reject) => fail.push(() => reject(new Error(`the activity of attempt ${attempts}`)))),
      );
    };
    const carrying = [carry(1), carry(2)].map((each) => expect(each).rejects.toThrow("the activity of attempt"));
    for (const each of fail.toReversed()) {
      each();
      await new Promise(setImmediate);
    }
    await Promise.all(carrying);
    await gathered.carry((reports) => recorder.record(report(...reports)));
    expect(await detail("again")).toMatchObject({ state: "RETRYING", attempts: 2 });
  });
});

describe("the record of a long value", () => {
  const LONG = "long ".repeat(10_000);
  const shown = { $truncated: true, size: LONG.length + 2, preview: LONG.slice(0, 2000) };

  it("keeps the inputs of an earlier report and the reference to their full value", async () => {
    const { record, detail } = await begin();
    await record({ ...running("http-0"), inputs: LONG });
    await record(node("http-0", { announced: true, value: { v: `${LONG}!` } }));
    const { inputs, output, truncated, long_values } = await detail("http-0");
    expect([inputs, output, truncated]).toMatchObject([shown, { $truncated: true, size: LONG.length + 3 }, true]);
    expect(await loadValue(blobs, { ref: long_values?.inputs ?? NOWHERE })).toBe(LONG);
    expect(await loadValue(blobs, { ref: long_values?.output ?? NOWHERE })).toBe(`${LONG}!`);
  });

  it("contains a preview while the blob store accepts nothing", async () => {
    const { report, detail } = await begin();
    const put = () => Promise.reject(new Error("no space left"));
    const without = createRunRecorder({ ...deps, blobs: { ...blobs, put } });
    expect(await without.record(report(node("http-0", { value: { v: LONG } })))).toMatchObject({ state: "RUNNING" });
    expect(await detail("http-0")).toMatchObject({ output: shown, truncated: true, long_values: null });
  });

  it("say with the start of a node whether a pending cancellation forbids it", async () => {
    const { record, row } = await begin();
    expect(await record(node("one"), running("two"))).toMatchObject({ stopped: false });
    const run_id = (await row())?.run_id;
    await own.database.org(tenant.org_id, (db) =>
      db.query("update runs set cancel_requested = '{}' where run_id = $1::uuid", [run_id]),
    );
    expect(await record(node("two"), running("three"))).toMatchObject({ stopped: true });
  });
});
