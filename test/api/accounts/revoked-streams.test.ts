import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import type { TestClient } from "../../support/client.ts";
import { publish } from "../pages/published.ts";
import { checkedClient } from "../http/conformance.ts";
import { newUser } from "./accounts.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { service } from "../../support/service.ts";

/** Requests that a network may send to pages in a minute. */
const PAGE_LIMIT = 60;

let api: InProcessApi;
/** A second process on the same database, which has to learn of what the first was told. */
let other: InProcessApi;
let tenant: ApiTenant;
let flowId: string;
let runId: string;
beforeAll(async () => {
  // No worker runs, so no run makes progress and streams send nothing.
  const quiet = { env: { MILLRACE_STREAM_KEEP_ALIVE_MS: "300" } };
  api = await startInProcess(quiet);
  const env = { ...quiet.env, MILLRACE_PAGE_RATE_LIMIT: String(PAGE_LIMIT) };
  other = await startInProcess({ env, databaseUrl: api.databaseUrl });
  tenant = await openTenant({ ...service(), ...api });
  flowId = await tenant.deploy(echo());
  runId = (await tenant.secret.post("/v2/runs", { project_id: flowId, inputs: { "in-0": "x" } })).body.run_id;
});
afterAll(async () => {
  await other.close();
  await api.close();
});

const EVENTS = { accept: "text/event-stream" };
const followRun = (client: TestClient, headers: Record<string, string> = {}) =>
  client.raw("GET", `/v2/runs/${runId}`, undefined, { headers: { ...EVENTS, ...headers } });

async function key(kind: "public" | "secret") {
  const { body } = await tenant.secret.post("/v2/api-keys", { name: kind, kind });
  const revoke = () => tenant.secret.delete(`/v2/api-keys/${body.key_id}`);
  return { client: checkedClient(other, body.key), revoke };
}

async function session() {
  const user = await newUser(api.db, {
    org_id: tenant.org_id,
    email: `${crypto.randomUUID()}@example.test`,
    role: "viewer",
  });
  const opened = await checkedClient(other).post("/console/session", { link: await createSignInLink(api.db, user) });
  const cookie = (opened.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  return { ...user, session_id: opened.body.session_id, open: () => followRun(checkedClient(other), { cookie }) };
}

/** Reads until the API ends the stream. */
const endOf = async (response: Response): Promise<string> => {
  expect(response.status).toBe(200);
  return response.text();
};

describe("a stream ends, without an error, soon after", () => {
  it("its session has been ended", async () => {
    const { session_id, open } = await session();
    const stream = await open();
    expect((await tenant.secret.delete(`/v2/sessions/${session_id}`)).status).toBe(204);
    expect(await endOf(stream)).not.toContain("run.finished");
  });

  it("its user has been disabled", async () => {
    const { user_id, open } = await session();
    const stream = await open();
    expect((await tenant.secret.patch(`/v2/users/${user_id}`, { disabled: true })).status).toBe(200);
    await endOf(stream);
  });

  it("its key has been revoked", async () => {
    const { client, revoke } = await key("secret");
    const stream = await followRun(client);
    await revoke();
    await endOf(stream);
  });

  it.each(["", "?sse=true"])("the public key of an inference call has been revoked (%j)", async (query) => {
    const { client, revoke } = await key("public");
    const stream = await client.raw("POST", `/inference/v0/stream/${tenant.org_id}/${flowId}${query}`, { "in-0": "x" });
    await revoke();
    expect(await endOf(stream)).toContain('"state":null');
  });

  it("the key of a tool call has been revoked", async () => {
    const { client, revoke } = await key("secret");
    const { body } = await client.post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" });
    const params = { name: body.result.tools[0].name, arguments: { "in-0": "x" } };
    const stream = await client.raw(
      "POST",
      "/mcp",
      { jsonrpc: "2.0", id: 2, method: "tools/call", params },
      { headers: { accept: "application/json, text/event-stream" } },
    );
    await revoke();
    expect(await endOf(stream)).not.toContain('"result"');
  });

  it.each(["revoked", "its password changed"])("public-page: the page of a visitor has been %s", async (how) => {
    const { path, door, enter } = await publish(tenant, echo(), {}, other);
    const { handle } = await enter();
    const visitor = checkedClient(other, handle);
    const stream = await visitor.raw("POST", `${door}/runs`, { inputs: { "in-0": "x" } }, { headers: EVENTS });
    const since = performance.now();
    const changed =
      how === "revoked" ? tenant.secret.delete(path) : tenant.secret.patch(path, { password: "tulip-and-harbour" });
    expect((await changed).status).toBeLessThan(300);
    expect(await endOf(stream)).not.toContain('"state":"COMPLETED"');
    const again = await visitor.get(`${door}/conversations`);
    expect(again.status).toBe(how === "revoked" ? 410 : 401);
    expect(performance.now() - since).toBeLessThan(5000);
  });
});

it("public-page: requests of one network are counted before anything is looked up", async () => {
  const nobody = checkedClient(other);
  const door = `/f/${"A".repeat(43)}`;
  const answers = await Promise.all(Array.from({ length: PAGE_LIMIT + 1 }, () => nobody.get(`${door}/page`)));
  const limited = answers.find(({ status }) => status === 429);
  expect(Number(limited?.headers.get("retry-after"))).toBeGreaterThan(0);
  const page = await nobody.raw("GET", door);
  expect([page.status, page.headers.get("content-type")]).toEqual([429, "text/plain; charset=utf-8"]);
  // The API beside the pages is not limited by it.
  expect((await tenant.secret.get("/v2/limits")).status).toBe(200);
});
