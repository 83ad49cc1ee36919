import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import type { PauseOpening } from "../../src/domain/runs/run.ts";
import type { Database, Db } from "../../src/stores/db.ts";
import { listPauses } from "../../src/stores/runs/pauses.ts";
import { recordRun } from "../../src/stores/runs/run-record.ts";
import { buildRun, buildTenant, ownDatabase, pauseOpening, update } from "./rows.ts";

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
  const tenant = await buildTenant(own.database);
  const [first, second] = [await buildRun(own.database, tenant), await buildRun(own.database, tenant)];
  await own.database.org(tenant.org_id, (db) => recordBefore(db, first, asked()));
  const opened = update(tenant, second, { state: "PAUSED", pauses_opened: [asked({ pause_id: uuidv7() })] });
  await own.database.org(tenant.org_id, (db) => recordRun(db, opened, []));
  expect(await textsOf(own.database, tenant.org_id, first)).toEqual([SORTED]);
  expect(await textsOf(own.database, tenant.org_id, second)).toEqual([WRITTEN]);
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
