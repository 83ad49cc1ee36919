import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { createIdempotency, type IdempotentRequest, type KeyHold } from "../../../src/api/http/idempotency.ts";
import { blobExists, createFileBlobStore, type BlobStore } from "../../../src/platform/blobs/blobs.ts";
import { createLogger } from "../../../src/platform/logging/logger.ts";
import { claimKey, purgeIdempotencyKeys } from "../../../src/stores/http/idempotency.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import { client, type TestClient } from "../../support/client.ts";
import { checkedClient } from "./conformance.ts";
import { echoFlow } from "../echo-flow.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
let org: TestOrganisation;
let mine: TestClient;
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api);
  mine = checkedClient(api, org.secretKey);
});
afterAll(() => api.close());

const withKey = (key: string) => ({ headers: { "Idempotency-Key": key } });
const projectCount = async (): Promise<number> =>
  (await mine.get("/v2/projects", { query: { page_size: 200 } })).body.data.length;

describe("a request with an Idempotency-Key", () => {
  it("takes effect once and gets its first response again, headers included", async () => {
    const before = await projectCount();
    const first = await mine.post("/v2/projects", { name: "Once", flow: echoFlow() }, withKey("k1"));
    const again = await mine.post("/v2/projects", { name: "Once", flow: echoFlow() }, withKey("k1"));
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    for (const name of ["location", "etag", "content-type"])
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    expect([first.headers.get("idempotent-replayed"), again.headers.get("idempotent-replayed")]).toEqual([
      null,
      "true",
    ]);
    expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    expect(await projectCount()).toBe(before + 1);
  });

  it("gets the first response from another process, and after a restart", async () => {
    const first = await mine.post("/v2/projects", { name: "Durable" }, withKey("k2"));
    const second = await startInProcess({ databaseUrl: api.databaseUrl });
    const again = await checkedClient(second, org.secretKey).post("/v2/projects", { name: "Durable" }, withKey("k2"));
    await second.close();
    expect(again.body).toEqual(first.body);
  });

  it("is rejected if any part of the request differs", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "First", flow: echoFlow() }, withKey("k3"));
    const answers = [
      await mine.post("/v2/projects", { name: "Second" }, withKey("k3")),
      await mine.post("/v2/projects", '{ "name":"First"}', {
        headers: { "Idempotency-Key": "k3", "content-type": "application/json" },
      }),
      await mine.post(`/v2/projects/${project.project_id}/versions/1/publish`, undefined, withKey("k3")),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
  });

  it("is rejected with a different query, even on a path that ignores unknown parameters", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "Called", flow: echoFlow() });
    const path = `/inference/v0/run/${org.org_id}/${project.project_id}`;
    const headers = { ...withKey("k-query").headers, prefer: "respond-async" };
    const call = (query: string) => mine.post(path + query, { "in-0": "x" }, { headers });
    const first = await call("?version=1");
    expect(first.status).toBe(202);
    for (const query of ["", "?version=-1", "?version=1&verbose=false"])
      expect(await call(query)).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
    expect(await call("?version=1")).toMatchObject({ status: 202, body: { run_id: first.body.run_id } });
  });

  it("gets an error response again too, because it was the response", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "Later" });
    const path = `/v2/projects/${project.project_id}/versions/1/publish`;
    const first = await mine.post(path, undefined, withKey("k4"));
    await mine.post(`/v2/projects/${project.project_id}/versions`, { flow: echoFlow() });
    const again = await mine.post(path, undefined, withKey("k4"));
    expect([first.status, again.status]).toEqual([404, 404]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("content-type")).toBe("application/problem+json");
    expect((await mine.post(path, undefined, withKey("k5"))).status).toBe(200);
  });

  it("stores nothing if the request is invalid", async () => {
    expect((await mine.post("/v2/projects", { name: 1 }, withKey("k6"))).status).toBe(422);
    expect((await mine.post("/v2/projects", { name: "one" }, withKey("k6"))).status).toBe(201);
  });

  it("is separate for each organisation", async () => {
    const stranger = checkedClient(api, (await createOrganisation(api)).secretKey);
    const first = await mine.post("/v2/projects", { name: "Same" }, withKey("k7"));
    const theirs = await stranger.post("/v2/projects", { name: "Same" }, withKey("k7"));
    expect(theirs.status).toBe(201);
    expect(theirs.body.project_id).not.toBe(first.body.project_id);
  });

  it.each(["", " ", "x".repeat(256), "ключ"])("is rejected with the key %j", async (key) => {
    const answer = await client(api, org.secretKey).post(
      "/v2/projects",
      { name: "Odd" },
      withKey(Buffer.from(key).toString("latin1")),
    );
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].loc).toEqual(["header", "Idempotency-Key"]);
  });

  // This test uses two APIs in one process; test/kill/clients.test.ts uses two processes.
  it("sent 60 times simultaneously to two APIs of one database has one effect", async () => {
    const other = await startInProcess({ databaseUrl: api.databaseUrl });
    const own = await createOrganisation(api);
    const clients = [api, other].map((each) => checkedClient(each, own.secretKey));
    const post = async (n: number) =>
      clients[n % 2]?.post("/v2/projects", { name: "Crowd", flow: echoFlow() }, withKey("crowd"));
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => post(n)));
    const created = answers.filter((answer) => answer?.status === 201);
    const waiting = answers.filter((answer) => answer?.status === 409);
    expect(created.length).toBeGreaterThan(0);
    expect(created.length + waiting.length).toBe(60);
    expect(new Set(waiting.map((answer) => answer?.body.code))).toEqual(
      new Set(waiting.length > 0 ? ["idempotency_in_progress"] : []),
    );
    expect(new Set(created.map((answer) => answer?.body.project_id)).size).toBe(1);
    expect(created.filter((answer) => answer?.headers.get("idempotent-replayed") === null)).toHaveLength(1);
    expect((await clients[0]?.get("/v2/projects"))?.body.data).toHaveLength(1);
    await other.close();
  });
});

describe("the stored record of an Idempotency-Key", () => {
  let blobs: BlobStore & { close(): void };
  const logger = createLogger({ level: "silent", service: "test" });
  beforeAll(async () => {
    blobs = await createFileBlobStore(mkdtempSync(join(inject("millrace").stateDir, "blobs-")));
  });
  afterAll(() => blobs.close());
  const record = () => createIdempotency({ db: api.db, blobs, logger });
  let keys = 0;
  const request = (change: Partial<IdempotentRequest> = {}): IdempotentRequest => ({
    orgId: org.org_id,
    key: `record-${++keys}`,
    operation: "test",
    method: "POST",
    path: "/test",
    search: "",
    body: Buffer.from("{}"),
    makesRun: false,
    credential: null,
    ...change,
  });
  const answer =
    (body: string, status = 200) =>
    async () => ({ status, headers: { "Content-Type": "text/plain" }, body });

  it("is released when the request fails, and gives the same ID to the next attempt", async () => {
    const asked = request();
    const holds: KeyHold[] = [];
    const fail = async (hold: KeyHold): Promise<never> => {
      holds.push(hold);
      throw new Error("the database went away");
    };
    await expect(record().once(asked, fail)).rejects.toThrow("went away");
    const unavailable = await record().once(asked, async (hold) => {
      holds.push(hold);
      return { status: 503, headers: {}, body: "later" };
    });
    expect(unavailable.status).toBe(503);
    const last = await record().once(asked, async (hold) => {
      holds.push(hold);
      return answer(hold.resourceId)();
    });
    expect(last.body).toBe(holds[0]?.resourceId);
    expect(holds.map((hold) => [hold.resourceId, hold.repeated])).toEqual([
      [holds[0]?.resourceId, false],
      [holds[0]?.resourceId, true],
      [holds[0]?.resourceId, true],
    ]);
  });

  it("is kept for a failed run, because the run took place", async () => {
    const asked = request();
    let runs = 0;
    const run = async () => ({ status: 502, headers: {}, body: `${++runs}`, settled: true });
    await record().once(asked, run);
    expect(await record().once(asked, run)).toMatchObject({
      status: 502,
      body: "1",
      headers: { "Idempotent-Replayed": "true" },
    });
  });

  it("of a killed process can be claimed when its lease has expired, not before", async () => {
    const asked = request();
    let release = (): void => undefined;
    const never = record().once(
      asked,
      () => new Promise((resolve) => (release = () => resolve({ status: 200, headers: {}, body: "late" }))),
    );
    await expect
      .poll(() => api.db.system((db) => db.query("select 1 from idempotency_keys where key = $1", [asked.key])))
      .toHaveLength(1);
    await expect(record().once(asked, answer("x"))).rejects.toMatchObject({
      code: "idempotency_in_progress",
      headers: { "Retry-After": "1" },
    });
    await api.db.system((db) =>
      db.query("update idempotency_keys set locked_until = now() - interval '1 second' where key = $1", [asked.key]),
    );
    expect((await record().once(asked, answer("taken over"))).body).toBe("taken over");
    // The response that was stored first is kept.
    release();
    await never;
    expect((await record().once(asked, answer("x"))).body).toBe("taken over");
  });

  it("stores long responses in the blob store, byte for byte, and the purge names their blobs", async () => {
    const asked = request();
    const long = "ü\u0000".repeat(600_000);
    await record().once(asked, answer(long));
    expect((await record().once(asked, answer("x"))).body).toBe(long);
    await api.db.system((db) =>
      db.query("update idempotency_keys set created_at = now() - interval '25 hours' where key = $1", [asked.key]),
    );
    const { removed, blobs: left } = await api.db.system((db) => purgeIdempotencyKeys(db, 100));
    expect([removed, left.length]).toEqual([1, 1]);
    expect(await blobExists(blobs, left[0] ?? "")).toBe(true);
    expect((await record().once(asked, answer("anew"))).body).toBe("anew");
  });

  it("expires after a day, also before the purge", async () => {
    const asked = request();
    await record().once(asked, answer("old"));
    await api.db.system((db) =>
      db.query("update idempotency_keys set created_at = now() - interval '25 hours' where key = $1", [asked.key]),
    );
    const other = { ...asked, body: Buffer.from('{"other":1}') };
    expect((await record().once(other, answer("new"))).body).toBe("new");
  });

  it("encrypts a response that shows a secret", async () => {
    const asked = request({ credential: "Bearer mr_sec_mine" });
    await record().once(asked, answer("the secret"));
    const rows = await api.db.system((db) =>
      db.query("select response from idempotency_keys where key = $1", [asked.key]),
    );
    expect(JSON.stringify(rows)).not.toContain("the secret");
    expect((await record().once(asked, answer("x"))).body).toBe("the secret");
    await expect(record().once({ ...asked, credential: "Bearer other" }, answer("x"))).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
  });

  it("can only fix an ID, which is the same for every call with the key", async () => {
    const asked = request();
    const holds = await Promise.all(Array.from({ length: 10 }, () => record().claimOnly(asked)));
    expect(new Set(holds.map((hold) => hold.resourceId)).size).toBe(1);
    expect(holds.filter((hold) => !hold.repeated)).toHaveLength(1);
    await expect(record().claimOnly({ ...asked, path: "/other" })).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
    expect((await record().claimOnly(request({ key: uuidv7() }))).repeated).toBe(false);
  });

  it("gives the first claim's ID to a transaction that began earlier and claims later", async () => {
    const { key, orgId: org_id } = request();
    const claim = {
      org_id,
      key,
      lease_id: uuidv7(),
      operation: "x",
      request_hash: Buffer.from("x"),
      lease_seconds: 0,
      makes_run: false,
    };
    const first = uuidv7();
    await api.db.orgTransaction(org_id, async (early) => {
      // now() returns the start time of a transaction, so this one is older than the claim.
      await early.query("select now()");
      await api.db.org(org_id, (db) => claimKey(db, { ...claim, resource_id: first }));
      expect(await claimKey(early, { ...claim, resource_id: uuidv7() })).toMatchObject({
        outcome: "claimed",
        resource_id: first,
        repeated: true,
      });
    });
  });
});
