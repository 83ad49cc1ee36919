import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import { flow } from "../../engine/support.ts";
import { historiesOf, withTemporal } from "../../support/histories.ts";
import { dataConverter } from "../../support/payloads.ts";
import { eventually } from "../../support/scratch.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { newUser } from "../accounts/accounts.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

const TOKEN = "a-token-of-the-operator";
const UI = "https://temporal.example.test";
const DECODE = "/temporal/codec/decode";
const ENCODE = "/temporal/codec/encode";

interface PayloadJson {
  readonly metadata?: Record<string, string>;
  readonly data?: string;
}

let api: InProcessApi;
let org: TestOrganisation;
let other: TestOrganisation;
/** The encrypted input of the organisation's run, as Temporal stores it. */
let sealed: PayloadJson;
beforeAll(async () => {
  api = await startInProcess({ env: { MILLRACE_CODEC_TOKEN: TOKEN, MILLRACE_TEMPORAL_UI_ORIGIN: UI } });
  [org, other] = await Promise.all([createOrganisation(api), createOrganisation(api)]);
  const owner = checkedClient(api, org.secretKey);
  const definition = flow(
    [
      { id: "in-0", type: "input" },
      { id: "out-0", type: "output" },
    ],
    ["in-0>out-0"],
  );
  const { body: project } = await owner.post("/v2/projects", { name: "x", flow: definition, publish: true });
  const { body: run } = await owner.post("/v2/runs", { project_id: project.project_id, inputs: { "in-0": "seen" } });
  sealed = await withTemporal(inject("millrace").temporalAddress, async (client) => {
    // The API responds before it starts the workflow.
    const [started] = await eventually("it is started", () => historiesOf(client, run.run_id).catch(() => undefined));
    const [payload] = started?.history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return json(payload ?? {});
  });
});
afterAll(() => api?.close());

function json(payload: { metadata?: Record<string, Uint8Array> | null; data?: Uint8Array | null }): PayloadJson {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  const fields = Object.entries(payload.metadata ?? {}).map(([name, bytes]) => [name, text(bytes)]);
  return {
    metadata: Object.fromEntries(fields) as Record<string, string>,
    data: text(payload.data ?? Buffer.alloc(0)),
  };
}

const clear = ({ data = "" }: PayloadJson): string => Buffer.from(data, "base64").toString();
const as = (credential?: string) => checkedClient(api, credential);
const label = (name: string, value: string): PayloadJson => ({
  ...sealed,
  metadata: { ...sealed.metadata, [name]: Buffer.from(value).toString("base64") },
});
const plain = { metadata: { encoding: btoa("json/plain") }, data: btoa('"plain"') };
async function sessionOf(role: "admin" | "editor" | "viewer", org_id: string): Promise<string> {
  const user = await newUser(api.db, { org_id, email: `${role}@example.test`, role });
  const answer = await as().post("/console/session", { link: await createSignInLink(api.db, user) });
  return (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

describe("decrypting Temporal payloads", () => {
  it("with the token returns everything, and plaintext unchanged", async () => {
    expect(clear(sealed)).not.toContain("seen");
    const { status, body } = await as(TOKEN).post(DECODE, { payloads: [sealed, plain] });
    expect([status, body.payloads[1]]).toEqual([200, plain]);
    expect(JSON.parse(clear(body.payloads[0]))).toMatchObject({
      org_id: org.org_id,
      inputs: { "in-0": { v: "seen" } },
    });
  });

  it("as an admin returns the organisation's runs, and those of others still encrypted", async () => {
    const { body: own } = await as(org.secretKey).post(DECODE, { payloads: [sealed] });
    expect(clear(own.payloads[0])).toContain("seen");
    // A slice of the run is a workflow with a longer ID.
    const workflowId = `${atob(sealed.metadata?.["workflow-id"] ?? "")}/map-0@0`;
    const payload = { metadata: { encoding: Buffer.from("json/plain") }, data: Buffer.from('"slice"') };
    const context = { type: "workflow", namespace: "default", workflowId } as const;
    const [slice] = (await dataConverter.payloadCodecs[0]?.encode([payload], context)) ?? [];
    const { body: part } = await as(org.secretKey).post(DECODE, { payloads: [json(slice ?? {})] });
    expect(clear(part.payloads[0])).toBe('"slice"');
    const { status, body } = await as(other.secretKey).post(DECODE, { payloads: [sealed, plain] });
    expect([status, body.payloads]).toEqual([200, [sealed, plain]]);
    // Claiming that the payload belongs to the caller's own run does not help.
    const theirs = checkedClient(api, other.secretKey);
    const definition = flow(
      [
        { id: "in-0", type: "input" },
        { id: "out-0", type: "output" },
      ],
      ["in-0>out-0"],
    );
    const { body: project } = await theirs.post("/v2/projects", { name: "x", flow: definition, publish: true });
    const { body: run } = await theirs.post("/v2/runs", { project_id: project.project_id, inputs: { "in-0": "x" } });
    const claimed = await theirs.post(DECODE, { payloads: [label("workflow-id", `run-${run.run_id}`)] });
    expect(claimed.status).toBe(422);
  });

  it("writes one audit entry in the run's organisation for each caller, run and minute", async () => {
    // A new minute may begin between two calls.
    for (let n = 0; n < 4; n++) {
      await as(org.secretKey).post(DECODE, { payloads: [sealed, sealed, plain] });
      await as(TOKEN).post(DECODE, { payloads: [sealed] });
      await as(other.secretKey).post(DECODE, { payloads: [sealed] });
    }
    const entries = async ({ secretKey }: TestOrganisation) =>
      (await as(secretKey).get("/v2/audit-log", { query: { operation: "decodePayloads" } })).body.data;
    const mine = await entries(org);
    const runId = /run-([0-9a-f-]{36})/.exec(atob(sealed.metadata?.["workflow-id"] ?? ""))?.[1];
    for (const { target, outcome } of mine) expect([target, outcome]).toEqual([{ type: "run", id: runId }, "success"]);
    const by = (type: string): number =>
      mine.filter(({ actor }: { actor: { type: string } }) => actor.type === type).length;
    for (const type of ["org_api_key", "system"]) expect([1, 2]).toContain(by(type));
    expect((await entries(other)).filter(({ target }: { target: { id: string } }) => target.id === runId)).toEqual([]);
  });

  it("authenticates the caller before it reads the body", async () => {
    const send = (authorization: string): Promise<Response> =>
      fetch(new URL(DECODE, api.url), { method: "POST", headers: { authorization }, body: "{" });
    const statuses = await Promise.all(
      [`${TOKEN}x`, org.publicKey, TOKEN].map(async (token) => (await send(`Bearer ${token}`)).status),
    );
    expect(statuses).toEqual([401, 403, 415]);
  });

  it("is rejected without a credential, and for users who are not admins", async () => {
    for (const path of [DECODE, ENCODE]) {
      for (const credential of [undefined, `${TOKEN}x`, "mr_sec_none"])
        expect((await as(credential).post(path, { payloads: [sealed] })).status).toBe(401);
      expect((await as(org.publicKey).post(path, { payloads: [sealed] })).status).toBe(403);
    }
    expect((await as(org.secretKey).post(ENCODE, { payloads: [plain] })).status).toBe(403);
  });

  it("rejects invalid payloads, too many of them, and modified ones", async () => {
    const changed = { ...sealed, data: Buffer.concat([Buffer.from(sealed.data ?? "", "base64"), Buffer.of(0)]) };
    for (const payloads of [
      undefined,
      {},
      [7],
      [{ data: "%" }],
      [{ metadata: { encoding: 7 } }],
      Array.from({ length: 1001 }, () => plain),
      [label("key-id", "01890000-0000-7000-8000-000000000009")],
      [{ ...changed, data: changed.data.toString("base64") }],
    ])
      expect((await as(TOKEN).post(DECODE, { payloads })).status).toBe(422);
  });

  it("reverses encrypting them", async () => {
    const { body: encoded } = await as(TOKEN).post(ENCODE, { payloads: [plain] });
    expect(clear(encoded.payloads[0])).not.toContain("plain");
    const { body } = await as(TOKEN).post(DECODE, encoded);
    expect(body.payloads).toEqual([plain]);
  });
});

describe("a page of Temporal's UI", () => {
  const ask = (method: string, headers: Record<string, string>): Promise<Response> =>
    fetch(new URL(DECODE, api.url), {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(method === "POST" ? { body: JSON.stringify({ payloads: [sealed] }) } : {}),
    });

  it("can call it from the configured origin, with the session of an admin", async () => {
    const preflight = await ask("OPTIONS", { origin: UI, "access-control-request-method": "POST" });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, UI]);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("X-Namespace");
    const cookie = await sessionOf("admin", org.org_id);
    const answer = await ask("POST", { origin: UI, cookie, "x-namespace": "default" });
    expect([answer.status, answer.headers.get("access-control-allow-credentials")]).toEqual([200, "true"]);
    const { payloads } = (await answer.json()) as { payloads: [PayloadJson] };
    expect(clear(payloads[0])).toContain("seen");
    for (const role of ["viewer", "editor"] as const) {
      const refused = await ask("POST", { origin: UI, cookie: await sessionOf(role, org.org_id) });
      expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, UI]);
    }
  });

  it("cannot call it from another origin or without an Origin", async () => {
    const cookie = await sessionOf("admin", other.org_id);
    for (const origin of [
      "https://temporal.example.test.evil.test",
      "http://temporal.example.test",
      "null",
      undefined,
    ]) {
      const headers: Record<string, string> = origin === undefined ? {} : { origin };
      const preflight = await ask("OPTIONS", headers);
      const answer = await ask("POST", { ...headers, cookie });
      expect(answer.status, origin).toBe(401);
      for (const each of [preflight, answer]) {
        expect(each.headers.get("access-control-allow-origin")).toBeNull();
        // A cache must not serve this response to the configured origin.
        expect(each.headers.get("vary")).toContain("Origin");
      }
    }
  });
});

it("the codec without token and origin is for admins only, within the rate limit", async () => {
  const bare = await startInProcess({ databaseUrl: api.databaseUrl, env: { MILLRACE_RATE_LIMIT: "1" } });
  try {
    expect((await checkedClient(bare, TOKEN).post(DECODE, { payloads: [sealed] })).status).toBe(401);
    const { body } = await checkedClient(bare, org.secretKey).post(DECODE, { payloads: [sealed] });
    expect(clear(body.payloads[0])).toContain("seen");
    const more = await checkedClient(bare, org.secretKey).post(DECODE, { payloads: [sealed] });
    expect([more.status, more.headers.has("retry-after")]).toEqual([429, true]);
  } finally {
    await bare.close();
  }
});
