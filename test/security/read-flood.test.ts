import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startInProcess, type InProcessApi } from "../api/in-process.ts";
import { checkedClient } from "../api/http/conformance.ts";
import { client, type TestClient } from "../support/client.ts";
import { createOrganisation } from "../support/service.ts";

let api: InProcessApi;
let holder: Client;
beforeAll(async () => {
  api = await startInProcess({ patience: { ms: 60_000, reads: 20 } });
  holder = new Client({ connectionString: api.databaseUrl });
  await holder.connect();
});
afterAll(async () => {
  await holder?.end();
  await api?.close();
});

it("read-flood: lists beyond an organisation's queue get 429 with Retry-After, and delay no other organisation", async () => {
  const [noisy, quiet] = await Promise.all([createOrganisation(api), createOrganisation(api)]);
  const [flood, calm] = [checkedClient(api, noisy.secretKey), checkedClient(api, quiet.secretKey)];
  // The lock makes every request for the audit log wait.
  await holder.query("begin");
  await holder.query("lock table audit_log in access exclusive mode");
  const lists = Array.from({ length: 30 }, () => flood.get("/v2/audit-log", { query: { page_size: 200 } }));
  const refused = await Promise.any(lists);
  expect([refused.status, refused.body.code, refused.headers.get("retry-after")]).toEqual([429, "rate_limited", "1"]);
  // Other organisations can read, and so can this one if it requests a single resource.
  expect((await calm.get("/v2/runs")).status).toBe(200);
  expect((await flood.get("/v2/retention")).status).toBe(200);
  await holder.query("commit");
  const statuses = (await Promise.all(lists)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(21);
  expect(statuses.filter((status) => status === 429)).toHaveLength(9);
  expect(api.logs()).not.toContain("request failed");
});

it("read-flood: works on the requests of organisations in turn, however many of one have arrived before", async () => {
  const [noisy, quiet] = await Promise.all([createOrganisation(api), createOrganisation(api)]);
  const [flood, calm] = [client(api, noisy.secretKey), client(api, quiet.secretKey)];
  const round = async (): Promise<string[]> => {
    const order: string[] = [];
    const get = async (from: TestClient, name: string): Promise<void> => {
      const { status } = await from.get("/v2/limits");
      order.push(status === 200 ? name : `${name}: ${status}`);
    };
    await Promise.all([...Array.from({ length: 300 }, () => get(flood, "noisy")), get(calm, "quiet")]);
    return order;
  };
  // After this the keys are known and the connections are open, so that all requests of the next round arrive together.
  await round();
  const order = await round();
  expect(new Set(order)).toEqual(new Set(["noisy", "quiet"]));
  expect(order.indexOf("quiet")).toBeLessThan(100);
});
