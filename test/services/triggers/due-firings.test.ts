import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { Problem } from "../../../src/domain/errors.ts";
import { startTriggers } from "../../../src/services/triggers/start-triggers.ts";
import type { StartRunDeps } from "../../../src/services/triggers/start-run.ts";
import { buildTenant, ownDatabase } from "../../stores/rows.ts";
import type { Tenant } from "../../stores/rows.ts";

const own = ownDatabase();

/** A trigger with so many firings that are due. */
async function fire({ org_id, project_id }: Tenant, count: number): Promise<string> {
  const id = uuidv7();
  await own.database.system(async (db) => {
    await db.query(
      `insert into triggers (id, org_id, project_id, provider_id, trigger_id, kind, config, enabled)
        values ($1, $2, $3, 'millrace', 'run_event', 'run_event', '{}', true)`,
      [id, org_id, project_id],
    );
    await db.query(
      `insert into trigger_firings (run_id, org_id, trigger_id, key, payload, due_at)
        select gen_random_uuid(), $1, $2, 'key ' || n, '{}', now() from generate_series(1, $3::int) as n`,
      [org_id, id, count],
    );
  });
  return id;
}
const left = async ({ org_id }: Tenant): Promise<number> => {
  const text = "select count(*) as n from trigger_firings where org_id = $1 and due_at is not null";
  return Number((await own.database.system((db) => db.query(text, [org_id])))[0]?.["n"]);
};

it("starts what others wait for while an organisation is slow, one of its own after the other", async () => {
  const [slow, other, late] = await Promise.all([1, 2, 3].map(() => buildTenant(own.database)));
  if (!slow || !other || !late) throw new Error("there are three");
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const underWay = { now: 0, most: 0 };
  const deps = {
    db: own.database,
    flows: {
      async get(orgId: string): Promise<never> {
        if (orgId === slow.org_id) {
          underWay.now += 1;
          underWay.most = Math.max(underWay.most, underWay.now);
          await released;
          underWay.now -= 1;
        }
        throw new Problem("not_found", "The project is gone.");
      },
    },
  } as unknown as StartRunDeps;
  const errors: unknown[] = [];
  await fire(slow, 10);
  // Only a wake begins a round.
  const triggers = startTriggers(deps, 3_600_000, (error) => errors.push(error));
  triggers.wake();
  await expect.poll(() => underWay.now).toBe(1);
  await fire(other, 10);
  triggers.wake();
  await expect.poll(() => left(other)).toBe(0);
  await fire(late, 1);
  triggers.wake();
  await expect.poll(() => left(late)).toBe(0);
  expect([await left(slow), underWay.now]).toEqual([10, 1]);
  release();
  await expect.poll(() => left(slow)).toBe(0);
  await triggers.close();
  expect([underWay.most, errors]).toEqual([1, []]);
});
