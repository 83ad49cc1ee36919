import { uuidv7 } from "uuidv7";
import { expect, it } from "vitest";
import { Problem } from "../../../src/domain/errors.ts";
import { NO_PLACE } from "../../../src/domain/triggers/scheduled.ts";
import { createBackgroundStarts } from "../../../src/services/runs/background-starts.ts";
import { quotaExceeded } from "../../../src/services/accounts/quotas.ts";
import { createScheduledRuns } from "../../../src/services/triggers/schedule-run.ts";
import { startTriggers, type DueFiringsDeps } from "../../../src/services/triggers/due-firings.ts";
import { buildTenant, ownDatabase, type Tenant } from "../../stores/rows.ts";

const own = ownDatabase();

/** A trigger with this many firings that are due. */
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

it("a slow organisation does not delay the firings of others, and its own start one after the other", async () => {
  const [slow, other, late] = await Promise.all([1, 2, 3].map(() => buildTenant(own.database)));
  if (!slow || !other || !late) throw new Error("there are three");
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const underWay = { now: 0, most: 0 };
  const deps = {
    db: own.database,
    startInBackground: createBackgroundStarts(),
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
  } as unknown as DueFiringsDeps;
  const errors: unknown[] = [];
  await fire(slow, 10);
  // With this interval, only a wake starts a round.
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

it("a firing ends without a run if its quota is 0 and waits if its quota is used up, with the reason in both cases", async () => {
  const tenant = await buildTenant(own.database);
  const limits = { most: 0, used: 0 };
  const deps = {
    db: own.database,
    startInBackground: createBackgroundStarts(),
    flows: {
      async get(): Promise<never> {
        throw quotaExceeded("concurrent_runs", null, limits.most, limits.used);
      },
    },
  } as unknown as DueFiringsDeps;
  const errors: unknown[] = [];
  const triggers = startTriggers(deps, 3_600_000, (error) => errors.push(error));
  const lastError = async (id: string) =>
    (await own.database.system((db) => db.query("select last_error from triggers where id = $1", [id])))[0]?.[
      "last_error"
    ];

  const refused = await fire(tenant, 2);
  triggers.wake();
  await expect.poll(() => left(tenant)).toBe(0);
  expect(await lastError(refused)).toContain("is 0, so every request is rejected. The operator can");
  expect(errors).toEqual([]);
  Object.assign(limits, { most: 2, used: 2 });
  const waits = await fire(tenant, 1);
  triggers.wake();
  await expect.poll(() => errors.length).toBe(1);
  expect([await left(tenant), await lastError(waits)]).toEqual([
    1,
    expect.stringContaining("is exceeded: 2 of 2 are used"),
  ]);
  await triggers.close();
});

it("a scheduled time ends without a run if its quota is 0, and the trigger shows the reason", async () => {
  const tenant = await buildTenant(own.database);
  const deps = {
    db: own.database,
    startInBackground: createBackgroundStarts(),
    flows: {
      async get(): Promise<never> {
        throw quotaExceeded("runs_per_minute", null, most, most);
      },
    },
  } as unknown as DueFiringsDeps;
  let most = 1;
  const id = await fire(tenant, 0);
  const due = { org_id: tenant.org_id, id, scheduled_at: "2026-01-01T00:00:00.000Z" };
  const createScheduledRun = createScheduledRuns(deps);
  expect(await createScheduledRun(due)).toBe(NO_PLACE);
  most = 0;
  expect(await createScheduledRun(due)).toBe(null);
  const [trigger] = await own.database.org(tenant.org_id, (db) => db.query("select last_error from triggers"));
  expect(trigger?.["last_error"]).toContain("The quota runs_per_minute of this organisation is 0");
});
