import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { hashUser } from "../../src/services/erasures/erasures.ts";
import { insertRows } from "../../src/stores/evals/dataset-rows.ts";
import { setRetention } from "../../src/stores/system/retention.ts";
import { purgeRemovedRuns, purgeRuns } from "../../src/stores/runs/run-retention.ts";
import { buildRun, buildTenant, ownDatabase } from "./rows.ts";

const own = ownDatabase();
const HOUR_MS = 3_600_000;

it("the user of a purged run stays recorded as long as anything made from the run exists", async () => {
  const { database } = own;
  const tenant = await buildTenant(database);
  const { org_id } = tenant;
  const build = (user_id: string | null, caused_by: string | null = null) =>
    buildRun(database, tenant, { user_id, caused_by });
  const [ada, adaToo] = [await build("ada"), await build("ada")];
  const caused = await build(null, await build(null, ada));
  await build(null);
  await database.org(org_id, (db) => setRetention(db, null, 1));
  const query = <Row extends object>(sql: string) => database.system((db) => db.query<Row>(sql));
  await query("update runs set state = 'COMPLETED', finished_at = now() - interval '2 days'");
  expect(await database.system((db) => purgeRuns(db, null, 100))).toBe(5);
  const kept = () => query<{ run_id: string }>("select run_id, user_hash from removed_runs order by run_id");
  expect((await kept()).length).toBe(4);
  expect(new Set((await kept()).map((row) => Object.values(row)[1]))).toEqual(new Set([hashUser(org_id, "ada")]));

  const dataset_id = uuidv7();
  await query(`insert into eval_datasets (dataset_id, org_id, name) values ('${dataset_id}', '${org_id}', 'd')`);
  const content = { external_id: null, inputs: {}, expected_outputs: {}, split: null, tags: [] };
  const row = { ...content, row_id: uuidv7(), metadata: {}, source_type: "run", source_run_id: adaToo } as const;
  const named = { ...row, row_id: uuidv7(), source_run_id: null, metadata: { run_id: caused.toUpperCase() } };
  await database.org(org_id, (db) => insertRows(db, org_id, dataset_id, 1, [row, named]));
  const purge = (maxAgeMs: number) => database.system((db) => purgeRemovedRuns(db, maxAgeMs, 100));
  expect(await purge(HOUR_MS)).toBe(0);
  expect(await purge(-1)).toBe(4);
  expect((await kept()).map(({ run_id }) => run_id)).toEqual([adaToo, caused]);
  // Runs that are kept are not checked again in the next round.
  expect(await purge(HOUR_MS)).toBe(0);
  await query("delete from eval_dataset_rows");
  expect(await purge(-1)).toBe(2);
  expect(await kept()).toEqual([]);
});
