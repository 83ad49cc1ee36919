import { uuidv7 } from "uuidv7";
import { beforeEach, describe, expect, it } from "vitest";
import { listRuns, type RunFilter } from "../../src/stores/runs/run-lists.ts";
import type { Statement } from "../../src/stores/db.ts";
import type { Keyset } from "../../src/stores/keyset.ts";
import { buildProject, buildRun, buildTenant, moveRun, ownDatabase, type Tenant } from "./rows.ts";

const own = ownDatabase();
let tenant: Tenant;

beforeEach(async () => {
  tenant = await buildTenant(own.database);
});

const down: Keyset = { beyond: null, ascending: false, limit: 50 };
const ids = async (filter: RunFilter, page = down): Promise<string[]> =>
  (await own.database.org(tenant.org_id, (db) => listRuns(db, tenant.org_id, filter, page))).map((run) => run.run_id);

describe("listRuns", () => {
  it("lists the newest first, and the oldest first when ascending", async () => {
    const [a, b, c] = [
      await buildRun(own.database, tenant),
      await buildRun(own.database, tenant),
      await buildRun(own.database, tenant),
    ];
    expect(await ids({})).toEqual([c, b, a]);
    expect(await ids({}, { ...down, ascending: true })).toEqual([a, b, c]);
  });

  it("continues after an ID in either direction", async () => {
    const all: string[] = [];
    for (let i = 0; i < 5; i++) all.push(await buildRun(own.database, tenant));
    expect(await ids({}, { beyond: all[3] ?? "", ascending: false, limit: 2 })).toEqual([all[2], all[1]]);
    expect(await ids({}, { beyond: all[1] ?? "", ascending: true, limit: 2 })).toEqual([all[2], all[3]]);
  });

  it("applies each filter", async () => {
    const parent = uuidv7();
    const project_id = await buildProject(own.database, tenant.org_id);
    await buildRun(own.database, tenant);
    const run = await buildRun(
      own.database,
      { ...tenant, project_id },
      {
        run_type: "batch",
        user_id: "u-1",
        parent_run_id: parent,
        tags: ["red", "blue"],
        resumed_from: { run_id: parent, node_id: null, path: null },
      },
    );
    for (const filter of [
      { project_id },
      { run_type: "batch" },
      { user_id: "u-1" },
      { parent_run_id: parent },
      { resumed_from: parent },
      { resumed_from: parent, tag: "red", states: ["PENDING"] },
      { tag: "red" },
      { tag: "blue", project_id, run_type: "batch", user_id: "u-1", parent_run_id: parent, states: ["PENDING"] },
    ] satisfies RunFilter[]) {
      expect({ filter, found: await ids(filter) }).toEqual({ filter, found: [run] });
    }
    expect(await ids({ tag: "green" })).toEqual([]);
    expect(await ids({ tag: "red", user_id: "u-2" })).toEqual([]);
  });

  it("merges several states in the order of IDs, with and without a tag", async () => {
    const all: string[] = [];
    for (let i = 0; i < 6; i++) all.push(await buildRun(own.database, tenant, { tags: i < 4 ? ["t"] : [] }));
    const [a, b, c, , e] = all as [string, string, string, string, string];
    await moveRun(own.database, tenant, a, "RUNNING", "FAILED");
    await moveRun(own.database, tenant, b, "RUNNING");
    await moveRun(own.database, tenant, c, "RUNNING", "FAILED");
    await moveRun(own.database, tenant, e, "RUNNING", "COMPLETED");
    expect(await ids({ states: ["FAILED"] })).toEqual([c, a]);
    expect(await ids({ states: ["FAILED", "RUNNING", "COMPLETED"] })).toEqual([e, c, b, a]);
    expect(await ids({ states: ["FAILED", "RUNNING", "FAILED"], tag: "t" }, { ...down, limit: 2 })).toEqual([c, b]);
    expect(await ids({ states: ["FAILED", "RUNNING"] }, { beyond: a, ascending: true, limit: 1 })).toEqual([b]);
  });

  it("filters by times as clients see them, both bounds exclusive", async () => {
    const made: Array<{ id: string; at: string }> = [];
    for (let i = 0; i < 3; i++) {
      const id = await buildRun(own.database, tenant);
      const [run] = await own.database.org(tenant.org_id, (db) =>
        listRuns(db, tenant.org_id, {}, { ...down, limit: 1 }),
      );
      made.push({ id, at: run?.created_at ?? "" });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const [first, second, third] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
    expect(await ids({ created_after: second.at })).toEqual([third.id]);
    expect(await ids({ created_before: second.at })).toEqual([first.id]);
    expect(await ids({ created_after: first.at, created_before: third.at })).toEqual([second.id]);
    expect(await ids({ created_after: "2000-01-01T00:00:00Z" })).toHaveLength(3);
    expect(await ids({ created_before: "1960-01-01T00:00:00Z" })).toEqual([]);
    expect(await ids({ created_after: "2999-01-01T00:00:00Z" })).toEqual([]);
  });

  it("shows a preview of long values and returns short ones and references unchanged", async () => {
    const long = { text: "x".repeat(20_000) };
    const ref = { $blob: "somewhere", size: 100_000 };
    await buildRun(own.database, tenant, { inputs: { "in-0": { v: "short" }, "in-1": { v: long }, "in-2": { ref } } });
    const [run] = await own.database.org(tenant.org_id, (db) => listRuns(db, tenant.org_id, {}, down));
    expect(run?.inputs["in-0"]).toEqual({ v: "short" });
    expect(run?.inputs["in-2"]).toEqual({ ref });
    expect(run?.inputs["in-1"]).toEqual({
      cut: { size: Buffer.byteLength(JSON.stringify(long)) + 1, preview: `{"text": "${"x".repeat(246)}` },
    });
    expect(run).not.toHaveProperty("start_input");
  });

  it("shows nothing of another organisation, whatever the filter", async () => {
    const other = await buildTenant(own.database);
    await buildRun(own.database, other, { tags: ["t"], user_id: "u" });
    for (const filter of [
      {},
      { tag: "t" },
      { user_id: "u" },
      { project_id: other.project_id },
      { states: ["PENDING", "RUNNING"] },
    ] satisfies RunFilter[]) {
      expect(await ids(filter)).toEqual([]);
      // The list is empty even if the query names the other organisation.
      expect(await own.database.org(tenant.org_id, (db) => listRuns(db, other.org_id, filter, down))).toEqual([]);
    }
  });

  it("uses an index for every filter that can match many runs", async () => {
    await own.database.system((db) =>
      db.query(
        `insert into runs (run_id, org_id, project_id, flow_version, state, inputs, run_type, ran_by_type, start_input, timeout_seconds, tags, user_id)
         select ('0190' || lpad(to_hex(i / 65536), 4, '0') || '-' || lpad(to_hex(i % 65536), 4, '0') || '-7000-8000-' || right($1::uuid::text, 12))::uuid,
           $1, $2, 1, case when i % 500 = 0 then 'FAILED' else 'COMPLETED' end, '{}', 'api', 'system', '{}', 1,
           case when i % 700 = 0 then array['rare', 'common'] else array['common'] end, 'u' || i % 1000
         from generate_series(1, 20000) as i`,
        [tenant.org_id, tenant.project_id],
      ),
    );
    await own.database.system((db) => db.query("analyze runs, run_tags"));
    for (const filter of [
      {},
      { project_id: tenant.project_id },
      { states: ["FAILED"] },
      { states: ["FAILED", "PENDING"] },
      { project_id: tenant.project_id, states: ["FAILED"] },
      { run_type: "api" },
      { user_id: "u7" },
      { tag: "rare" },
      { tag: "rare", states: ["FAILED", "COMPLETED"] },
      { parent_run_id: uuidv7() },
      { resumed_from: uuidv7() },
      { resumed_from: "01900000-0000-7000-8000-000000000000" },
    ] satisfies RunFilter[]) {
      const plan = await own.database.org(tenant.org_id, (db) =>
        listRuns(
          {
            ...db,
            query: (statement, values) =>
              db.query(`explain (analyze, format json) ${(statement as Statement).text}`, values),
          },
          tenant.org_id,
          filter,
          { beyond: "01900000-4e20-7000-8000-000000000000", ascending: false, limit: 20 },
        ),
      );
      const text = JSON.stringify(plan);
      const removed = [...text.matchAll(/"Rows Removed by Filter":(\d+)/g)].map((match) => Number(match[1]));
      const measured = { filter, sequential: text.includes('"Seq Scan"'), wasteful: Math.max(0, ...removed) >= 200 };
      expect(measured).toEqual({ filter, sequential: false, wasteful: false });
    }
  });
});
