import { expect, it } from "vitest";
import { createFileBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { PURGES, runPurge } from "../../../src/services/house/purges.ts";
import { sweepBlobs } from "../../../src/services/system/sweep-blobs.ts";
import { buildTenant, ownDatabase } from "../../stores/rows.ts";
import { scratchDirectory } from "../../support/scratch.ts";

const own = ownDatabase();

/** Blobs in a store whose first blob cannot be deleted. */
async function begin() {
  const tenant = await buildTenant(own.database);
  const blobs = await createFileBlobStore(scratchDirectory());
  blobs.close();
  const put = async () => (await blobs.put(tenant.org_id, Buffer.from("x"), { maxBytes: 1 })).key;
  const keys = [await put(), await put(), await put()];
  const broken: typeof blobs = {
    ...blobs,
    delete: async (key) => {
      if (key === keys[0]) throw new Error("the store is away");
      await blobs.delete(key);
    },
  };
  const listed = async () => {
    const found: string[] = [];
    for await (const some of blobs.list(new Date(Date.now() + 60_000))) found.push(...some);
    return found;
  };
  return { tenant, keys, broken, listed };
}

const system = (sql: string, values: unknown[] = []) => own.database.system((db) => db.query(sql, values));

it("a purge fails after it has removed what it can, and only once it has reported how much", async () => {
  const { tenant, keys, broken, listed } = await begin();
  for (const [at, key] of keys.entries())
    await system(
      `insert into idempotency_keys (org_id, key, operation, request_hash, resource_id, created_at, response)
         values ($1::uuid, $2::text, 'createRun', '\\x00', gen_random_uuid(), now() - interval '25 hours', $3::jsonb)`,
      [tenant.org_id, `key-${at}`, JSON.stringify({ blob: key })],
    );
  const noted: number[] = [];
  const deps = {
    db: own.database,
    blobs: broken,
    retention: { eventMs: 1000, runDays: null, auditDays: null, monitorDays: 90 },
    isClosed: () => false,
  };
  const run = (name: string) => runPurge(deps, name, (removed) => noted.push(removed));
  await expect(run("stored responses")).rejects.toThrow("the store is away");
  expect(await listed()).toEqual([keys[0]]);
  await system(
    "insert into rate_limits (key, points, expire) select 'old:' || n, 1, 1 from generate_series(1, 1500) n",
  );
  expect([await run("rate limits"), noted]).toEqual([1500, [1000, 1500]]);
  expect(await run("only in another version")).toBe(0);
});

it("each purge has a name of its own and runs", async () => {
  expect(new Set(PURGES.map(({ name }) => name)).size).toBe(PURGES.length);
  const { broken: blobs } = await begin();
  const retention = { eventMs: 1000, runDays: 1, auditDays: 1, monitorDays: 90 };
  const deps = { db: own.database, blobs, retention, isClosed: () => false };
  for (const { name } of PURGES) expect(await runPurge(deps, name, () => undefined), name).toBeGreaterThanOrEqual(0);
});

it("a sweep removes what it can, but nothing if its process stops before all comparisons", async () => {
  const { keys, broken, listed } = await begin();
  const later = new Date(Date.now() + 60_000);
  // The process stops while blobs are listed, before any table has been read.
  let closed = false;
  const list: typeof broken.list = async function* (olderThan) {
    yield* broken.list(olderThan);
    closed = true;
  };
  const deps = { db: own.database, blobs: { ...broken, list }, isClosed: () => closed };
  const stopped = await sweepBlobs(deps, later);
  expect([stopped, (await listed()).toSorted()]).toEqual([0, keys.toSorted()]);
  await expect(sweepBlobs({ db: own.database, blobs: broken }, later)).rejects.toThrow("the store is away");
  expect(await listed()).toEqual([keys[0]]);
});
