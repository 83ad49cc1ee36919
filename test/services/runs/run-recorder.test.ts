import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPlanCache } from "../../../src/services/projects/plans.ts";
import { NO_TRACES } from "../../../src/services/runs/run-traces.ts";
import { createRunRecorder } from "../../../src/services/runs/run-recorder.ts";
import type { RunRecorder } from "../../../src/services/runs/run-recorder.ts";
import { compileFlow } from "../../../src/domain/flow/plan/compile.ts";
import type { NodeReport, RunReport } from "../../../src/domain/runs/run-report.ts";
import { createFileBlobStore, loadValue } from "../../../src/platform/blobs/blobs.ts";
import type { BlobStore } from "../../../src/platform/blobs/blobs.ts";
import { insertFlowVersion } from "../../../src/stores/projects/flow-versions.ts";
import { getNodeRun, listNodeRuns } from "../../../src/stores/runs/node-runs.ts";
import { listRunEvents } from "../../../src/stores/runs/run-events.ts";
import { openRunFeed } from "../../../src/stores/runs/run-feed.ts";
import type { RunFeed } from "../../../src/stores/runs/run-feed.ts";
import { getRun } from "../../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, ownDatabase } from "../../stores/rows.ts";
import type { Tenant } from "../../stores/rows.ts";
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

describe("the record of nodes that end at the same time", () => {
  it("has each of them, its start and its end once, and how far the run is", async () => {
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
    expect(new Set(states)).toEqual(new Set(["RUNNING"]));
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

  it("tells nothing twice, and keeps an end, where an attempt thought dead reports beside its successor", async () => {
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

  it("goes through where a neighbour cannot be written", async () => {
    const { record, nodes } = await begin();
    const results = await Promise.allSettled([
      record(node("a")),
      record(node("b")),
      // More than its column holds.
      record(node("bad", { attempts: 1e12 })),
      record(node("c")),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect((await nodes()).map(({ path }) => path).toSorted()).toEqual(["a", "b", "c"]);
  });
});

describe("the record of a long value", () => {
  const LONG = "long ".repeat(10_000);
  const shown = { $truncated: true, size: LONG.length + 2, preview: LONG.slice(0, 2000) };

  it("keeps the inputs of an earlier report, and where they are whole", async () => {
    const { record, detail } = await begin();
    await record({ ...running("http-0"), inputs: LONG });
    await record(node("http-0", { announced: true, value: { v: `${LONG}!` } }));
    const { inputs, output, truncated, long_values } = await detail("http-0");
    expect([inputs, output, truncated]).toMatchObject([shown, { $truncated: true, size: LONG.length + 3 }, true]);
    expect(await loadValue(blobs, { ref: long_values?.inputs ?? NOWHERE })).toBe(LONG);
    expect(await loadValue(blobs, { ref: long_values?.output ?? NOWHERE })).toBe(`${LONG}!`);
  });

  it("has its beginning while the blob store takes nothing", async () => {
    const { report, detail } = await begin();
    const put = () => Promise.reject(new Error("no space left"));
    const without = createRunRecorder({ ...deps, blobs: { ...blobs, put } });
    expect(await without.record(report(node("http-0", { value: { v: LONG } })))).toBe("RUNNING");
    expect(await detail("http-0")).toMatchObject({ output: shown, truncated: true, long_values: null });
  });
});
