import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NoPlace } from "../../src/domain/places.ts";
import { openDatabase, type Database, type Db } from "../../src/stores/db.ts";
import { testDatabase } from "../support/database.ts";

const [A, B] = ["0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d", "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b2d"];
const LOCK = 4711;

let own: Awaited<ReturnType<typeof testDatabase>>;
let database: Database;
let holder: Client;
beforeAll(async () => {
  own = await testDatabase();
  const onError = () => undefined;
  const patience = { ms: 60_000, reads: 20 };
  database = openDatabase({ url: own.url, poolSize: 10, applicationName: "places", onError, patience });
  holder = new Client({ connectionString: own.url });
  await holder.connect();
});
afterAll(async () => {
  await holder?.end();
  await database?.close();
  await own?.close();
});

const held = (db: Db) => db.query(`select pg_advisory_xact_lock_shared(${LOCK})`);
const answered = (db: Db) => db.value<number>("select 1");
const waitingForLock = async () => {
  const { rows } = await holder.query(
    "select 1 from pg_stat_activity where application_name = 'places' and wait_event_type = 'Lock'",
  );
  return rows.length;
};
const settled = () => new Promise((resolve) => setTimeout(resolve, 100));

describe("read-flood: an organisation with slow statements", () => {
  it("has few concurrent reads, delays neither its other work nor others, and is refused beyond its queue", async () => {
    await holder.query(`select pg_advisory_lock(${LOCK})`);
    const reads = Array.from({ length: 22 }, () => database.orgRead(A, held));
    await expect.poll(waitingForLock).toBe(2);
    await expect(database.orgRead(A, answered)).rejects.toBeInstanceOf(NoPlace);
    const exported = database.orgRead(A, answered, true);
    expect(await Promise.all([database.org(A, answered), database.orgTransaction(A, answered)])).toEqual([1, 1]);
    expect(await Promise.all(Array.from({ length: 20 }, () => database.org(B, answered)))).toHaveLength(20);
    expect(await database.orgRead(B, answered)).toBe(1);
    await settled();
    expect(await waitingForLock()).toBe(2);
    await holder.query(`select pg_advisory_unlock(${LOCK})`);
    await Promise.all(reads);
    expect(await exported).toBe(1);
  });

  it("leaves half of the connections to others when it writes too", async () => {
    await holder.query(`select pg_advisory_lock(${LOCK})`);
    const writes = Array.from({ length: 50 }, () => database.orgTransaction(A, held));
    await expect.poll(waitingForLock).toBe(5);
    expect(await Promise.all(Array.from({ length: 20 }, () => database.orgRead(B, answered)))).toHaveLength(20);
    expect(await waitingForLock()).toBe(5);
    await holder.query(`select pg_advisory_unlock(${LOCK})`);
    await Promise.all(writes);
  });

  it("leaves half of the connections for searches and for other work to others", async () => {
    await holder.query(`select pg_advisory_lock(${LOCK})`);
    const searches = Array.from({ length: 20 }, () => database.search(A, held));
    const others = Array.from({ length: 20 }, () => database.system(held, A));
    await expect.poll(waitingForLock).toBe(5 + 2);
    const answers = [database.search(B, answered), database.system(answered, B), database.system(answered)];
    expect(await Promise.all(answers)).toEqual([1, 1, 1]);
    await settled();
    expect(await waitingForLock()).toBe(5 + 2);
    await holder.query(`select pg_advisory_unlock(${LOCK})`);
    await Promise.all([...searches, ...others]);
  });

  it("has a shorter time limit for statements of lists, whatever its connection did before", async () => {
    const limit = (db: Db) => db.value<string>("show statement_timeout");
    for (const read of [true, false, true, false])
      expect(await (read ? database.orgRead(A, limit) : database.org(A, limit))).toBe(read ? "10s" : "30s");
  });
});
