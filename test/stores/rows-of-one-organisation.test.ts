import { uuidv7 } from "uuidv7";
import { beforeAll, describe, expect, it } from "vitest";
import { getRun, requestCancel } from "../../src/stores/runs.ts";
import { recordRun } from "../../src/stores/run-record.ts";
import { buildRun, buildTenant, ownDatabase, update } from "./rows.ts";
import type { Tenant } from "./rows.ts";

const own = ownDatabase();
let mine: Tenant;
let theirs: Tenant;
let theirRun: string;

beforeAll(async () => {
  mine = await buildTenant(own.database);
  theirs = await buildTenant(own.database);
  await buildRun(own.database, mine, { tags: ["t"] });
  theirRun = await buildRun(own.database, theirs, { tags: ["t"] });
  await own.database.org(theirs.org_id, (db) =>
    recordRun(
      db,
      update(theirs, theirRun, {
        nodes: [
          {
            node_id: "in-0",
            type: "input",
            path: "in-0",
            state: "COMPLETED",
            attempts: 1,
            started_at: null,
            finished_at: null,
          },
        ],
        pauses_opened: [pause()],
      }),
      [],
    ),
  );
});

function pause() {
  return {
    pause_id: uuidv7(),
    workflow_id: "w",
    node_id: "approval-0",
    path: "approval-0",
    kind: "approval",
    message: "?",
    data: null,
    form: null,
    actions: [{ id: "approve" }],
    required_approvals: 1,
    expires_at: null,
    on_timeout: "fail",
  } as const;
}

/** The tables with row-level security, as the database knows them. */
async function guarded(): Promise<string[]> {
  const rows = await own.database.system((db) =>
    db.query<{ name: string }>(
      "select relname as name from pg_class where relrowsecurity and relkind = 'r' order by 1",
    ),
  );
  return rows.map((row) => row.name);
}

describe("cross-tenant: row-level security", () => {
  it("guards every table that carries an organisation", async () => {
    const rows = await own.database.system((db) =>
      db.query<{ name: string }>(
        "select table_name as name from information_schema.columns where column_name = 'org_id' and table_schema = current_schema() order by 1",
      ),
    );
    expect(await guarded()).toEqual(rows.map((row) => row.name));
  });

  it("shows a query without any filter only the organisation's own rows", async () => {
    for (const table of await guarded()) {
      const rows = await own.database.org(mine.org_id, (db) =>
        db.query<{ org_id: string }>(`select org_id from ${table}`),
      );
      expect({ table, foreign: rows.some((row) => row.org_id === theirs.org_id) }).toEqual({ table, foreign: false });
    }
    const runs = await own.database.org(mine.org_id, (db) => db.query("select 1 from runs"));
    expect(runs).toHaveLength(1);
  });

  it("shows nothing at all to a connection that has not said whose it is", async () => {
    await expect(own.database.org("", async () => undefined)).rejects.toThrow("must be a UUID");
    await expect(own.database.org("' or true --", async () => undefined)).rejects.toThrow("must be a UUID");
    const nobody = uuidv7();
    for (const table of await guarded())
      expect(await own.database.org(nobody, (db) => db.query(`select 1 from ${table}`))).toEqual([]);
  });

  it("refuses rows for another organisation", async () => {
    await expect(
      own.database.org(mine.org_id, (db) =>
        db.query("insert into projects (project_id, org_id, name) values ($1, $2, 'x')", [uuidv7(), theirs.org_id]),
      ),
    ).rejects.toMatchObject({ code: "42501" });
    await expect(
      own.database.org(mine.org_id, (db) => db.query("update runs set org_id = $1", [theirs.org_id])),
    ).rejects.toMatchObject({ code: "42501" });
  });

  it("changes nothing of another organisation's, by id or wholesale", async () => {
    await own.database.org(mine.org_id, async (db) => {
      expect(await getRun(db, theirRun)).toBeNull();
      expect(await requestCancel(db, theirRun, null)).toBeNull();
      expect(await recordRun(db, update(mine, theirRun, { state: "FAILED" }), [])).toBeNull();
      await db.query("update runs set user_id = 'taken'");
      await db.query("delete from node_runs");
    });
    const row = await own.database.org(theirs.org_id, (db) => getRun(db, theirRun));
    expect(row).toMatchObject({ state: "RUNNING", user_id: null, cancel_requested: null });
    expect(await own.database.org(theirs.org_id, (db) => db.query("select 1 from node_runs"))).toHaveLength(1);
  });

  it("keeps one connection's organisation from the next borrower", async () => {
    const seen = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const tenant = i % 2 === 0 ? mine : theirs;
        return own.database
          .orgTransaction(tenant.org_id, (db) => db.query<{ org_id: string }>("select org_id from runs"))
          .then((rows) => rows.every((row) => row.org_id === tenant.org_id));
      }),
    );
    expect(seen.every(Boolean)).toBe(true);
  });
});
