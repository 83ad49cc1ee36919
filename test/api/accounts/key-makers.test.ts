import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { signedInUser, type SignedIn } from "./accounts.ts";

// The creator of a key knows its value, so the key must not outlive the creator's rights.

let api: InProcessApi;
let org: TestOrganisation;
let mine: TestClient;
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api);
  mine = checkedClient(api, org.secretKey);
  // A second admin, because the last one can be neither deleted nor demoted.
  await signedInUser(api, org.org_id, "admin");
});
afterAll(() => api.close());

/** Ways in which a user loses the right to create keys. */
const ENDS: ReadonlyArray<[string, (user: SignedIn) => Promise<Answer>]> = [
  ["is deleted", ({ user_id }) => mine.delete(`/v2/users/${user_id}`)],
  ["is disabled", ({ user_id }) => mine.patch(`/v2/users/${user_id}`, { disabled: true })],
  ["becomes an editor", ({ user_id }) => mine.patch(`/v2/users/${user_id}`, { role: "editor" })],
];

function make(credential: string, members: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  return checkedClient(api, credential).post("/v2/api-keys", { name: "made", kind: "secret", ...members }, { headers });
}

async function made(credential: string, kind = "secret"): Promise<string> {
  const { status, body } = await make(credential, { kind });
  expect(status).toBe(201);
  return body.key;
}

const works = async (key: string): Promise<number> => (await checkedClient(api, key).post("/mcp", {})).status;

/** Number of statements in this database that wait for a lock. */
async function waiting(): Promise<number> {
  const text = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  return (await api.db.system((db) => db.query(text))).length;
}

describe.each(ENDS)("when the creator of a key %s", (_, end) => {
  it("the key and all keys created with it are revoked, and no others", async () => {
    const user = await signedInUser(api, org.org_id, "admin");
    const first = await made(user.access);
    const keys = [first, await made(first), await made(user.access, "public"), await made(org.secretKey)];
    expect(await Promise.all(keys.map(works))).not.toContain(401);
    expect((await end(user)).status).toBeLessThan(300);
    expect((await Promise.all(keys.map(works))).map((status) => status === 401)).toEqual([true, true, true, false]);
  });

  it.each(["the maker", "a key of the maker"])(
    "a request of %s that is already in progress creates no key",
    async (who) => {
      const user = await signedInUser(api, org.org_id, "admin");
      const credential = who === "the maker" ? user.access : await made(user.access);
      let answer: Promise<Answer> = Promise.resolve({} as Answer);
      await api.db.systemTransaction(async (db) => {
        // The lock stalls the request after authentication, before it has changed anything.
        await db.query("lock table idempotency_keys in exclusive mode");
        answer = make(credential, {}, { "Idempotency-Key": uuidv7() });
        await expect.poll(waiting).toBe(1);
        expect((await end(user)).status).toBeLessThan(300);
      });
      expect(await answer).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    },
  );

  it("a key that is created at the same time is revoked too", async () => {
    const user = await signedInUser(api, org.org_id, "admin");
    let key: Promise<string> = Promise.resolve("");
    let ended: Promise<Answer> = Promise.resolve({} as Answer);
    await api.db.systemTransaction(async (db) => {
      // The lock stalls the request after its insert, at the foreign key to the organisation.
      await db.query("select from organisations where org_id = $1 for update", [org.org_id]);
      key = made(user.access);
      await expect.poll(waiting).toBe(1);
      let over = false;
      ended = end(user).finally(() => (over = true));
      await expect.poll(async () => over || (await waiting()) === 2).toBe(true);
    });
    const value = await key;
    expect((await ended).status).toBeLessThan(300);
    await expect.poll(() => works(value)).toBe(401);
  });
});

describe("a change that keeps the right to create keys", () => {
  it.each([{ password: "correct horse battery staple" }, { role: "admin" }, { disabled: false }])(
    "keeps the keys: %j",
    async (change) => {
      const user = await signedInUser(api, org.org_id, "admin");
      const key = await made(user.access);
      expect((await mine.patch(`/v2/users/${user.user_id}`, change)).status).toBe(200);
      expect(await works(key)).not.toBe(401);
    },
  );
});

describe("the default lifetime of secret keys", () => {
  let strict: InProcessApi;
  beforeAll(async () => {
    strict = await startInProcess({ databaseUrl: api.databaseUrl, env: { MILLRACE_SECRET_KEY_DAYS: "30" } });
  });
  afterAll(() => strict.close());
  const expiry = async (members: Record<string, unknown>, target = strict): Promise<string | null> => {
    const { status, body } = await checkedClient(target, org.secretKey).post("/v2/api-keys", { name: "n", ...members });
    expect(status).toBe(201);
    return body.expires_at;
  };

  it("applies to keys without expires_at", async () => {
    const before = Date.now();
    const days = (Date.parse((await expiry({ kind: "secret" })) ?? "") - before) / 86_400_000;
    expect(days).toBeGreaterThanOrEqual(30);
    expect(days).toBeLessThan(30.01);
  });

  it("does not apply to keys with expires_at or null, or to public keys", async () => {
    const own = "2031-01-01T00:00:00.000Z";
    expect(await expiry({ kind: "secret", expires_at: own })).toBe(own);
    expect(await expiry({ kind: "secret", expires_at: null })).toBeNull();
    expect(await expiry({ kind: "public" })).toBeNull();
  });

  it("is unlimited unless configured", async () => {
    expect(await expiry({ kind: "secret" }, api)).toBeNull();
  });
});
