import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import { childRunEnd, childRunId } from "../../src/services/runs/child-run-id.ts";
import type { Db } from "../../src/stores/db.ts";
import { childRunIds } from "../../src/stores/runs/node-runs.ts";
import { findChildRun } from "../../src/stores/runs/runs.ts";
import { buildRun, buildTenant, ownDatabase, type Tenant } from "./rows.ts";

const own = ownDatabase();
const parent = uuidv7();
const CHILDREN = 5000;
let tenant: Tenant;
let child: string;

beforeAll(async () => {
  tenant = await buildTenant(own.database);
  await own.database.system((db) =>
    db.query(
      `insert into runs (run_id, org_id, project_id, flow_version, inputs, run_type, ran_by_type, start_input, timeout_seconds, parent_run_id)
       select gen_random_uuid(), $1, $2, 1, '{}', 'sub_workflow', 'system', '{}', 1, $3 from generate_series(1, ${CHILDREN})`,
      [tenant.org_id, tenant.project_id, parent],
    ),
  );
  child = await buildRun(own.database, tenant, {
    run_id: childRunId(parent, "sub-0"),
    run_type: "sub_workflow",
    parent_run_id: parent,
  });
  await own.database.system((db) => db.query("analyze runs"));
});

/** The plan of a statement, executed as the role that row-level security restricts. */
async function planOf(query: (db: Db) => Promise<unknown>): Promise<string> {
  let plan: unknown;
  await own.database.org(tenant.org_id, (db) => {
    const explain = async (...[statement, values]: Parameters<Db["query"]>): Promise<never[]> => {
      plan = await db.query(`explain (analyze, format json) ${statement as string}`, values);
      return [];
    };
    return query({
      ...db,
      query: explain,
      first: async (...sent) => (await explain(...sent))[0] ?? null,
      column: explain,
    });
  });
  return JSON.stringify(plan);
}

describe("the child run that a node started", () => {
  const end = childRunEnd(parent, "sub-0");

  it("is found by the end of its ID", async () => {
    const found = await own.database.org(tenant.org_id, (db) => findChildRun(db, parent, end));
    expect(found?.run_id).toBe(child);
    expect(await own.database.org(tenant.org_id, (db) => childRunIds(db, parent, [end, "nothing"]))).toEqual([child]);
    const other = await buildTenant(own.database);
    expect(await own.database.org(other.org_id, (db) => findChildRun(db, parent, end))).toBeNull();
  });

  it("is found without reading the other children", async () => {
    for (const plan of [
      await planOf((db) => findChildRun(db, parent, end)),
      await planOf((db) => childRunIds(db, parent, [end])),
    ]) {
      expect(plan).toMatch(/"Index Cond":"[^"]*child_end/);
      const removed = [...plan.matchAll(/"Rows Removed by Filter":(\d+)/g)].map((match) => Number(match[1]));
      expect(Math.max(0, ...removed)).toBe(0);
    }
  });
});
