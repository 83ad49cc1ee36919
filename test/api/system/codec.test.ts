import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createSignInLink } from "../../../src/services/accounts/sessions.ts";
import { flow } from "../../engine/support.ts";
import { historiesOf, withTemporal } from "../../support/histories.ts";
import { eventually } from "../../support/scratch.ts";
import { createOrganisation } from "../../support/service.ts";
import type { TestOrganisation } from "../../support/service.ts";
import { checkedClient } from "../http/conformance.ts";
import { newUser } from "../accounts/accounts.ts";
import { startInProcess } from "../in-process.ts";
import type { InProcessApi } from "../in-process.ts";

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
/** What a run of the organisation was started with, as Temporal has it. */
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
    // The run is answered before its workflow is started.
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
async function sessionOf(role: "admin" | "viewer", org_id: string): Promise<string> {
  const user = await newUser(api.db, { org_id, email: `${role}@example.test`, role });
  const answer = await as().post("/console/session", { link: await createSignInLink(api.db, user) });
  return (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

describe("decrypting what Temporal keeps", () => {
  it("is for the token: everything, what is in clear text as it is", async () => {
    expect(clear(sealed)).not.toContain("seen");
    const { status, body } = await as(TOKEN).post(DECODE, { payloads: [sealed, plain] });
    expect([status, body.payloads[1]]).toEqual([200, plain]);
    expect(JSON.parse(clear(body.payloads[0]))).toMatchObject({
      org_id: org.org_id,
      inputs: { "in-0": { v: "seen" } },
    });
  });

  it("is for an admin: the organisation's runs; another organisation's come back as they are", async () => {
    const { body: own } = await as(org.secretKey).post(DECODE, { payloads: [sealed] });
    expect(clear(own.payloads[0])).toContain("seen");
    const { status, body } = await as(other.secretKey).post(DECODE, { payloads: [sealed, plain] });
    expect([status, body.payloads]).toEqual([200, [sealed, plain]]);
    // Neither does it help to say that the payload is of one's own run.
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

  it("is refused without a credential, and to who is no admin", async () => {
    for (const path of [DECODE, ENCODE]) {
      for (const credential of [undefined, `${TOKEN}x`, "mr_sec_none"])
        expect((await as(credential).post(path, { payloads: [sealed] })).status).toBe(401);
      expect((await as(org.publicKey).post(path, { payloads: [sealed] })).status).toBe(403);
    }
    expect((await as(org.secretKey).post(ENCODE, { payloads: [plain] })).status).toBe(403);
  });

  it("refuses what is not payloads, too many of them, and what was changed", async () => {
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

  it("has a reverse", async () => {
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

  it("of the configured origin may ask, with the session of an admin", async () => {
    const preflight = await ask("OPTIONS", { origin: UI, "access-control-request-method": "POST" });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, UI]);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("X-Namespace");
    const cookie = await sessionOf("admin", org.org_id);
    const answer = await ask("POST", { origin: UI, cookie, "x-namespace": "default" });
    expect([answer.status, answer.headers.get("access-control-allow-credentials")]).toEqual([200, "true"]);
    const { payloads } = (await answer.json()) as { payloads: [PayloadJson] };
    expect(clear(payloads[0])).toContain("seen");
    const viewer = await ask("POST", { origin: UI, cookie: await sessionOf("viewer", org.org_id) });
    expect([viewer.status, viewer.headers.get("access-control-allow-origin")]).toEqual([403, UI]);
  });

  it("of any other origin may not, nor one that says nothing", async () => {
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
      for (const each of [preflight, answer]) expect(each.headers.get("access-control-allow-origin")).toBeNull();
    }
  });
});

it("is for admins alone where neither token nor origin is configured", async () => {
  const bare = await startInProcess({ databaseUrl: api.databaseUrl });
  try {
    expect((await checkedClient(bare, TOKEN).post(DECODE, { payloads: [sealed] })).status).toBe(401);
    const { body } = await checkedClient(bare, org.secretKey).post(DECODE, { payloads: [sealed] });
    expect(clear(body.payloads[0])).toContain("seen");
  } finally {
    await bare.close();
  }
});
