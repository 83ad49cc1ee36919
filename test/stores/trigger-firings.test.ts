import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { takeDueFirings } from "../../src/stores/triggers/firings.ts";
import { buildTenant, ownDatabase } from "./rows.ts";

const own = ownDatabase();

it("takes all due firings, however often one of them has been attempted", async () => {
  const { org_id, project_id } = await buildTenant(own.database);
  const trigger = uuidv7();
  const runs = await own.database.system(async (db) => {
    await db.query(
      `insert into triggers (id, org_id, project_id, provider_id, trigger_id, kind, config)
        values ($1, $2, $3, 'millrace', 'run_event', 'run_event', '{}')`,
      [trigger, org_id, project_id],
    );
    return db.query<{ run_id: string }>(
      `insert into trigger_firings (run_id, org_id, trigger_id, key, payload, due_at, attempts)
        select gen_random_uuid(), $1, $2, 'key ' || n, '{}', now() - interval '1 minute', n
        from unnest(array[0, 41, 1000, 1000000]) as n returning run_id`,
      [org_id, trigger],
    );
  });
  // One call takes only a few firings per organisation.
  const take = () => own.database.system((db) => takeDueFirings(db, 10));
  const taken = [...(await take()), ...(await take())];
  expect(taken.map(({ run_id }) => run_id).toSorted()).toEqual(runs.map(({ run_id }) => run_id).toSorted());
  expect(await own.database.system((db) => takeDueFirings(db, 10))).toEqual([]);
});
