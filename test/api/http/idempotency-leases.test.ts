import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import {
  createIdempotency,
  requireHeld,
  type IdempotentRequest,
  type KeyHold,
} from "../../../src/api/http/idempotency.ts";
import { createFileBlobStore, type BlobStore } from "../../../src/platform/blobs/blobs.ts";
import { createLogger } from "../../../src/platform/logging/logger.ts";
import type { Db } from "../../../src/stores/db.ts";
import { renewClaim } from "../../../src/stores/http/idempotency.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import { checkedClient } from "./conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

// A request that outlasts its lease has lost its key, so it must not change what the next request stores under it.

let api: InProcessApi;
let org: TestOrganisation;
let blobs: BlobStore & { close(): void };
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api);
  blobs = await createFileBlobStore(mkdtempSync(join(inject("millrace").stateDir, "blobs-")));
});
afterAll(async () => {
  blobs.close();
  await api.close();
});

const logger = createLogger({ level: "silent", service: "test" });
const record = () => createIdempotency({ db: api.db, blobs, logger });
const system = <T extends object>(text: string, values: unknown[]) =>
  api.db.system((db: Db) => db.query<T & Record<string, unknown>>(text, values));

function request(): IdempotentRequest {
  return {
    orgId: org.org_id,
    key: uuidv7(),
    operation: "test",
    method: "POST",
    path: "/test",
    search: "",
    body: Buffer.from("{}"),
    makesRun: false,
    credential: null,
  };
}

const rendered = (body: string, status = 200) => ({ status, headers: { "Content-Type": "text/plain" }, body });

/** A request that stays in flight until the test ends it. */
async function served(asked: IdempotentRequest) {
  let started = (_hold: KeyHold): void => undefined;
  const hold = new Promise<KeyHold>((resolve) => (started = resolve));
  let end = (_body: string, _status?: number): void => undefined;
  let fail = (_error: Error): void => undefined;
  const work = new Promise<ReturnType<typeof rendered>>((resolve, reject) => {
    end = (body, status) => resolve(rendered(body, status));
    fail = reject;
  });
  const answer = record().once(asked, (given) => {
    started(given);
    return work;
  });
  return { hold: await hold, end, fail, answer };
}

/** Simulates a stall: no one renews the lease. */
const expire = ({ key }: IdempotentRequest) =>
  system("update idempotency_keys set locked_until = now() - interval '1 second' where key = $1", [key]);

async function rowOf({ key }: IdempotentRequest) {
  const [row] = await system<{ locked: boolean; body: string | null }>(
    "select coalesce(locked_until > now(), false) as locked, response ->> 'body' as body from idempotency_keys where key = $1",
    [key],
  );
  return row;
}

/** The first request stalls, and the second one takes over its key. */
async function takenOver() {
  const asked = request();
  const first = await served(asked);
  await expire(asked);
  const second = await served(asked);
  expect([second.hold.resourceId, second.hold.repeated]).toEqual([first.hold.resourceId, true]);
  return { asked, first, second };
}

describe("a request that lost its lease to a second one", () => {
  it("stores no response; later callers get the response of the second request", async () => {
    const { asked, first, second } = await takenOver();
    first.end("of the first");
    await expect(first.answer).rejects.toMatchObject({ code: "idempotency_in_progress" });
    expect(await rowOf(asked)).toEqual({ locked: true, body: null });
    second.end("of the second");
    expect((await second.answer).body).toBe("of the second");
    expect((await record().once(asked, async () => rendered("of the third"))).body).toBe("of the second");
  });

  it("returns the second request's response if it is already stored", async () => {
    const { first, second } = await takenOver();
    second.end("of the second", 201);
    await second.answer;
    first.end("of the first", 200);
    expect(await first.answer).toMatchObject({
      status: 201,
      body: "of the second",
      headers: { "Idempotent-Replayed": "true" },
    });
  });

  it.each(["an error", "an answer that is not final"])(
    "does not release the second request's lease by %s",
    async (how) => {
      const { asked, first, second } = await takenOver();
      if (how === "an error") {
        first.fail(new Error("it went away"));
        await expect(first.answer).rejects.toThrow("it went away");
      } else {
        first.end("later", 503);
        expect((await first.answer).status).toBe(503);
      }
      expect(await rowOf(asked)).toEqual({ locked: true, body: null });
      // Otherwise a third request could run at the same time as the second.
      await expect(record().once(asked, async () => rendered("beside it"))).rejects.toMatchObject({
        code: "idempotency_in_progress",
      });
      second.end("of the second");
      await second.answer;
    },
  );

  it("does not renew the second request's lease", async () => {
    const { asked, first, second } = await takenOver();
    await expire(asked);
    const renew = ({ lease }: KeyHold) =>
      api.db.org(org.org_id, async (db) => (lease === null ? expect.unreachable() : renewClaim(db, lease)));
    await renew(first.hold);
    expect((await rowOf(asked))?.locked).toBe(false);
    await renew(second.hold);
    expect((await rowOf(asked))?.locked).toBe(true);
    first.end("of the first");
    await first.answer.catch(() => undefined);
    second.end("of the second");
    await second.answer;
  });

  it("cannot write over the second request, whose transaction blocks any new lease", async () => {
    const { asked, first, second } = await takenOver();
    const inTransaction = (hold: KeyHold | null, then: () => Promise<void> = async () => undefined) =>
      api.db.orgTransaction(org.org_id, async (db) => {
        await requireHeld(db, hold);
        await then();
      });
    await expect(inTransaction(first.hold)).rejects.toMatchObject({ code: "idempotency_in_progress" });
    await inTransaction(null);
    let third: Promise<unknown> = Promise.resolve();
    const order: string[] = [];
    await expire(asked);
    await inTransaction(second.hold, async () => {
      third = record().once(asked, async () => {
        order.push("third");
        return rendered("of the third");
      });
      await expect
        .poll(() =>
          system("select from pg_stat_activity where wait_event_type = 'Lock' and query like $1", [
            "%idempotency_keys%",
          ]),
        )
        .not.toEqual([]);
      order.push("second");
    });
    await third;
    expect(order).toEqual(["second", "third"]);
    for (const late of [first, second]) late.end("late");
    expect((await second.answer).body).toBe("of the third");
    expect((await first.answer).body).toBe("of the third");
  });
});

describe("the stored response of a key that only fixes an ID", () => {
  it.each(["first", "second"])("comes from the first request to finish: the %s that was sent", async (which) => {
    const asked = request();
    const holds = [await record().claimOnly(asked), await record().claimOnly(asked)];
    const [ends, late] = which === "first" ? holds : holds.toReversed();
    if (ends === undefined || late === undefined) expect.unreachable();
    await record().keep(asked, ends, rendered("of the first to end"), "digest");
    await record().keep(asked, late, rendered("of the other"), "digest");
    const again = await record().claimOnly(asked);
    expect((await again.kept?.replay("digest"))?.body).toBe("of the first to end");
  });

  it("does not come from a request made before the key expired", async () => {
    const asked = request();
    const old = await record().claimOnly(asked);
    await system("update idempotency_keys set created_at = now() - interval '25 hours' where key = $1", [asked.key]);
    const fresh = await record().claimOnly(asked);
    expect(fresh.resourceId).not.toBe(old.resourceId);
    await record().keep(asked, old, rendered("from yesterday"), "digest");
    expect((await rowOf(asked))?.body).toBeNull();
    await record().keep(asked, fresh, rendered("of today"), "digest");
    expect((await rowOf(asked))?.body).toBe("of today");
  });
});

describe("a secret that is shown in only one response", () => {
  it("is not written by a request that lost its lease", async () => {
    await system("create table key_writes (name text)", []);
    await system(
      `create function note_key_write() returns trigger language plpgsql security definer set search_path from current
        as 'begin insert into key_writes values (new.name); return null; end'`,
      [],
    );
    await system(
      "create trigger note after insert or update of secret_hash on api_keys for each row execute function note_key_write()",
      [],
    );
    const mine = checkedClient(api, org.secretKey);
    const key = uuidv7();
    const post = () =>
      mine.post("/v2/api-keys", { name: "Slow", kind: "secret" }, { headers: { "Idempotency-Key": key } });
    let both: Promise<Awaited<ReturnType<typeof post>>[]> = Promise.resolve([]);
    await api.db.systemTransaction(async (db) => {
      // The lock stalls the key's request before it has written anything.
      await db.query("lock table users in exclusive mode");
      const first = post();
      await expect.poll(waiting).toBe(1);
      await system("update idempotency_keys set locked_until = now() - interval '1 second' where key = $1", [key]);
      both = Promise.all([first, post()]);
      await expect.poll(waiting).toBe(2);
    });
    for (const { status, body } of await both) expect([201, "idempotency_in_progress"]).toContain(body.code ?? status);
    expect(await system("select from key_writes where name = 'Slow'", [])).toHaveLength(1);
    const kept = await post();
    expect(kept.status).toBe(201);
    expect((await checkedClient(api, kept.body.key).get("/v2/limits")).status).toBe(200);
  });
});

/** Number of statements in this database that wait for a lock. */
async function waiting(): Promise<number> {
  return (
    await system("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'", [])
  ).length;
}
