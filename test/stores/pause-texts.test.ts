import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { uuidv7 } from "uuidv7";
import { expect, it, onTestFinished } from "vitest";
import type { PauseOpening } from "../../src/domain/runs/run.ts";
import { openDatabase } from "../../src/stores/db.ts";
import type { Database, Db } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { listPauses } from "../../src/stores/runs/pauses.ts";
import { recordRun } from "../../src/stores/runs/run-record.ts";
import { emptyDatabase } from "../support/database.ts";
import { MIGRATIONS } from "../support/own-postgres.ts";
import { scratchDirectory } from "../support/scratch.ts";
import { buildEarlierRun, buildRun, buildTenant, ownDatabase, pauseOpening, update } from "./rows.ts";

const own = ownDatabase();
/** Not in the order of jsonb, which puts shorter names first. */
const DATA = { street: "Mill Lane", no: 7 };
const FORM = { type: "object", properties: { surname: { type: "string" }, name: { type: "string" } } };
const asked = (of: Partial<PauseOpening> = {}) => pauseOpening({ data: DATA, form: FORM, ...of });

const textsOf = async (database: Database, org_id: string, runId: string): Promise<string[]> => {
  const pauses = await database.org(org_id, (db) => listPauses(db, runId));
  return pauses.map(({ data, form }) => JSON.stringify([data, form]));
};
const WRITTEN = JSON.stringify([DATA, FORM]);
const SORTED = JSON.stringify([
  { no: 7, street: "Mill Lane" },
  { type: "object", properties: { name: { type: "string" }, surname: { type: "string" } } },
]);

/** A write by a process of an earlier version, which sends no texts. */
const recordBefore = (db: Db, runId: string, pause: PauseOpening) =>
  db.query(
    `select new_state from record_run($1::uuid, 't-1', 'PAUSED', now(), null, null, '[]'::jsonb, '[]'::jsonb, $2::jsonb,
       '{}'::uuid[], null, null, '{}'::jsonb, 60000, array[gen_random_uuid(), gen_random_uuid()], 1000)`,
    [runId, JSON.stringify([pause])],
  );

it("old pauses stay readable; new pauses keep field order", async () => {
  const { url, drop } = await emptyDatabase();
  onTestFinished(drop);
  const files = readdirSync(MIGRATIONS).toSorted();
  const older = scratchDirectory();
  for (const name of files.filter((file) => file < "0077")) cpSync(join(MIGRATIONS, name), join(older, name));
  await migrate(url, older);
  const database = openDatabase({ url, poolSize: 1, applicationName: "test", onError: () => undefined });
  onTestFinished(() => database.close());
  const tenant = await buildTenant(database);
  const [first, second, third] = [
    await buildEarlierRun(database, tenant),
    await buildEarlierRun(database, tenant),
    await buildEarlierRun(database, tenant),
  ];
  // Read as a process of an earlier version does, in a session that stays open.
  const text = "select p.* from run_pauses p where run_id = $1::uuid";
  const readBefore = (runId: string) => database.org(tenant.org_id, (db) => db.query<PauseOpening>(text, [runId]));

  await database.org(tenant.org_id, (db) => recordBefore(db, first, asked()));
  expect(await readBefore(first)).toMatchObject([{ form: FORM }]);
  await migrate(url, MIGRATIONS);
  await database.org(tenant.org_id, (db) => recordBefore(db, second, asked()));
  const opened = update(tenant, third, { state: "PAUSED", pauses_opened: [asked()] });
  await database.org(tenant.org_id, (db) => recordRun(db, opened, []));

  for (const runId of [first, second]) expect(await textsOf(database, tenant.org_id, runId)).toEqual([SORTED]);
  expect(await textsOf(database, tenant.org_id, third)).toEqual([WRITTEN]);
  expect(await readBefore(third)).toMatchObject([{ form: FORM, data: DATA }]);
});

it("a pause is opened even if Postgres cannot store its data unchanged, or if it has neither data nor form", async () => {
  const tenant = await buildTenant(own.database);
  const runId = await buildRun(own.database, tenant);
  const pauses_opened = [
    asked({ path: "a", data: { zz: "a\0b", b: "\\u0000" } }),
    asked({ path: "b", pause_id: uuidv7(), data: null, form: null }),
  ];
  const opened = update(tenant, runId, { state: "PAUSED", pauses_opened });
  await own.database.org(tenant.org_id, (db) => recordRun(db, opened, []));
  expect(await textsOf(own.database, tenant.org_id, runId)).toEqual([
    JSON.stringify([{ zz: "a\ufffdb", b: "\\u0000" }, FORM]),
    JSON.stringify([null, null]),
  ]);
});
