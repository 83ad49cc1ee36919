import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Operation } from "../../src/api/http/operation.ts";
import { changesSomething } from "../../src/api/http/request-audit.ts";
import { operations } from "../api/http/conformance.ts";
import { echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { client, type TestClient } from "../support/client.ts";
import { service } from "../support/service.ts";
import { startMcpServer } from "../support/mcp-server.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { call } from "./call-operation.ts";
import { idFor, makeEverything, type Ids } from "./foreign-ids.ts";

interface Entry {
  readonly request_id: string;
  readonly operation: string;
  readonly actor: { readonly type: string; readonly id: string };
  readonly outcome: string;
  readonly target: { readonly type: string; readonly id: string } | null;
  readonly changes: Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>;
}

let tenant: ApiTenant;
let stranger: ApiTenant;
let ids: Ids;
let receiver: HttpTarget;
let bodies: Readonly<Record<string, unknown>>;
/** Secrets that responses have shown once. */
const shown: string[] = [];

const CREDENTIAL = "a-credential-of-a-connection";
const PASSWORD = "a long enough password";

beforeAll(async () => {
  receiver = await startHttpTarget();
  [tenant, stranger] = [await openTenant(), await openTenant()];
  const made = await makeEverything(tenant, receiver.url);
  const project_id = idFor(made, operationOf("rollBackEnvironment"), "project_id");
  await tenant.secret.post(`/v2/projects/${project_id}/versions`, { flow: echo(), publish: false });
  const staging = `/v2/projects/${project_id}/environments/staging`;
  for (const version of [1, 2]) expect((await tenant.secret.put(staging, { version })).status).toBe(200);
  ids = {
    ...made,
    "deleteProject.project_id": await tenant.deploy(echo()),
    // In staging, a review of this version is open.
    "proposePromotion.environment": "development",
  };
  const paths = { "/mine": { get: { operationId: "getMine", responses: { 200: { description: "mine" } } } } };
  bodies = {
    createSkill: { name: "audited", description: "Audited.", instructions: "Do it." },
    createSkillVersion: { name: "theirs", instructions: "Do it again.", description: "Audited." },
    createConnection: {
      name: "audited",
      provider_id: "http",
      scheme: "bearer",
      credential: { base_url: receiver.url, token: CREDENTIAL },
    },
    changeKnowledgeBaseResource: { name: "audited.txt" },
    changeMonitorAlert: { silenced_until: "2030-01-01T00:00:00Z" },
    changeScore: { value: false },
    changeUser: { role: "editor" },
    setProjectMember: { role: "editor" },
    createExperimentJob: { kind: "export" },
    rollBackEnvironment: {},
    createRunJob: { action: "resume", filter: { tag: "nobody" } },
    runAction: { inputs: {} },
    importProvider: {
      provider_id: "audited",
      openapi: { openapi: "3.1.0", info: { title: "mine", version: "1" }, servers: [{ url: receiver.url }], paths },
    },
  };
});
afterAll(() => receiver?.close());

const audited = operations.filter(
  (operation) =>
    operation.auth !== "none" && (operation.audit ?? (changesSomething(operation) ? "always" : "never")) === "always",
);
/** These operations need something in progress, but the IDs of `makeEverything` belong to finished things. */
const ENDED = ["resumeRun", "abortRunJob", "cancelKnowledgeBaseSync"];
/** Operations that delete come last, and a session is deleted before its user. */
const rank = ({ method, id }: Operation): number =>
  id === "endSession" ? 3 : ["GET", "POST", "PATCH", "", "DELETE"].indexOf(method);

const operationOf = (id: string): Operation => {
  const found = operations.find((operation) => operation.id === id);
  if (found === undefined) throw new Error(`no operation ${id}`);
  return found;
};

/** An API key has no session to sign out of. */
async function signedIn(): Promise<TestClient> {
  const email = `leaving-${tenant.org_id}@example.test`;
  const made = await tenant.secret.post("/v2/users", { email, password: PASSWORD, role: "viewer" });
  expect(made.status).toBe(201);
  const nobody = client(service());
  const opened = await nobody.post("/console/session", { email, password: PASSWORD });
  const cookie = (opened.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  const raw: TestClient["raw"] = (method, path, body, options) =>
    nobody.raw(method, path, body, {
      ...options,
      headers: { ...options?.headers, cookie, "sec-fetch-site": "same-origin" },
    });
  return { ...nobody, raw };
}

async function entriesOf(requestId: string, operation: string): Promise<Entry[]> {
  const { body } = await tenant.secret.get("/v2/audit-log", { query: { operation, page_size: 200 } });
  return body.data.filter((entry: Entry) => entry.request_id === requestId);
}

describe("the audit log", () => {
  it.each(
    audited
      .filter(({ id }) => !ENDED.includes(id))
      .sort((a, b) => rank(a) - rank(b))
      .map((operation) => [operation.id, operation] as const),
  )("has exactly one entry for a successful %s", async (id, operation) => {
    const requestId = randomUUID();
    const body = bodies[id];
    const isOwn = id === "closeSession";
    const isSecond = id === "decideEnvironmentReview";
    const caller = isOwn ? await signedIn() : isSecond ? await tenant.user("admin") : tenant.secret;
    const answer = await call(caller, operation, ids, { requestId, ...(body === undefined ? {} : { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    const parsed = /^application\/json(;|$)/.test(answer.headers.get("content-type") ?? "")
      ? JSON.parse(answer.text)
      : {};
    shown.push(...["key", "secret", "address"].map((name) => parsed[name]).filter((each) => typeof each === "string"));
    const entries = await entriesOf(requestId, id);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({
      actor: { type: isOwn || isSecond ? "user" : "org_api_key" },
      outcome: "success",
      operation: id,
    });
    if (answer.status === 201 && !operation.path.includes("{"))
      expect(answer.text).toContain(`"${entries[0]?.target?.id}"`);
    if (answer.status === 201 || operation.method === "DELETE") {
      const side = answer.status === 201 ? "after" : "before";
      const fields = Object.values(entries[0]?.changes ?? {});
      expect(fields.length, "fields of what is made or deleted").toBeGreaterThan(1);
      for (const field of fields) expect(Object.keys(field)).toEqual([side]);
    }
  });

  it("records the number of deleted conversations and documents, and the document IDs", async () => {
    const removals = ["deleteConversations", "deleteConversation", "deleteDocuments"];
    const entries = await Promise.all(
      removals.map(async (operation) => {
        const { body } = await tenant.secret.get("/v2/audit-log", { query: { operation } });
        return body.data.at(0).changes;
      }),
    );
    const [all, one, documents] = entries;
    expect(one.conversations).toEqual({ before: 1 });
    expect(all.conversations.before).toBeTypeOf("number");
    expect(documents.documents.before).toBeGreaterThan(0);
    expect(documents.file_ids.before).toHaveLength(documents.documents.before);
  });

  it("records the changes of an import with the IDs of the first 20 actions of each kind", async () => {
    const operation = (operationId: string, more: object = {}) => ({
      get: { operationId, responses: { 200: { description: "done" } }, ...more },
    });
    const imported = async (paths: object, more: object = {}): Promise<Entry | undefined> => {
      const requestId = randomUUID();
      const info = { title: "shop", version: "1" };
      const openapi = { openapi: "3.1.0", info, servers: [{ url: receiver.url }], paths };
      const body = { provider_id: "shop", openapi, ...more };
      const { status } = await tenant.secret.post("/v2/providers", body, { headers: { "x-request-id": requestId } });
      expect(status).toBeLessThan(300);
      const entries = await entriesOf(requestId, "importProvider");
      expect(entries).toHaveLength(1);
      return entries[0];
    };
    const numbers = Array.from({ length: 22 }, (_, index) => `many${index}`);
    const many = Object.fromEntries(numbers.map((name) => [`/${name}`, operation(name)]));
    const first = await imported({ ...many, "/goes": operation("goes") });
    expect(first?.target).toEqual({ type: "provider", id: "shop" });
    expect(first?.changes).toMatchObject({ source: { after: "openapi" }, operations: { after: 23 } });
    const added = first?.changes["added"]?.after as { count: number; action_ids: string[] };
    expect([added.count, added.action_ids.length]).toEqual([23, 20]);
    const next = { ...many, "/many0": operation("many0", { summary: "Another." }), "/comes": operation("comes") };
    const planned = await imported(next, { dry_run: true });
    expect(planned?.target).toEqual({ type: "provider", id: "shop" });
    expect(planned?.changes["dry_run"]).toEqual({ after: true });
    const renewed = await imported(next, { force: true });
    expect(renewed?.changes).toMatchObject({ force: { after: true }, operations: { after: 23 } });
    const counts = ["added", "changed", "removed"].map((name) => renewed?.changes[name]?.after);
    expect(counts).toMatchObject([{ count: 1 }, { count: 1 }, { count: 1 }]);
    expect(renewed?.changes["dry_run"]).toBeUndefined();
  });

  it("records the import of a server with only the host of its URL, and the connection that it created", async () => {
    const server = await startMcpServer();
    onTestFinished(() => server.close());
    const admin = await tenant.user("admin");
    const url = `${server.url}?key=${CREDENTIAL}`;
    const imported = async (more: object): Promise<[number, Entry[], string]> => {
      const headers = { "x-request-id": randomUUID() };
      const body = { provider_id: "tools", mcp: { url }, ...more };
      const { status, body: made } = await admin.post("/v2/providers", body, { headers });
      return [status, await entriesOf(headers["x-request-id"], "importProvider"), made.connection_id];
    };
    const connection = { credential: { token: CREDENTIAL } };
    const [planned, [plan, ...others]] = await imported({ connection, dry_run: true, trust_annotations: true });
    expect([planned, others, plan?.changes["connection_id"]]).toEqual([200, [], undefined]);
    expect(plan?.changes).toMatchObject({ dry_run: { after: true }, trust_annotations: { after: true } });
    const [status, [entry, ...more], connection_id] = await imported({ connection });
    expect([status, more]).toEqual([201, []]);
    expect(entry).toMatchObject({ actor: { type: "user" }, target: { type: "provider", id: "tools" } });
    const action_ids = server.tools.map(({ name }) => name.replaceAll(" ", "_")).sort();
    expect(entry?.changes).toEqual({
      source: { after: "mcp" },
      host: { after: new URL(url).host },
      operations: { after: action_ids.length },
      added: { after: { count: action_ids.length, action_ids } },
      connection_id: { after: connection_id },
    });
    server.tools = server.tools.slice(1).map((tool) => ({ ...tool, description: "Another." }));
    expect((await imported({ connection_id })).slice(0, 2)).toEqual([409, []]);
    const [again, [renewal]] = await imported({ connection_id, accept_changes: true });
    expect([again, renewal?.changes["accept_changes"], renewal?.changes["connection_id"]]).toEqual([
      200,
      { after: true },
      undefined,
    ]);
  });

  it("records how many rows were added to a dataset, and the IDs of the first 20", async () => {
    const { body: dataset } = await tenant.secret.post("/v2/evals/datasets", { name: "many rows" });
    const rows = Array.from({ length: 30 }, (_, index) => ({ inputs: { "in-0": `row ${index}` } }));
    const path = `/v2/evals/datasets/${dataset.dataset_id}/rows`;
    const { status, body: added } = await tenant.secret.post(path, { rows });
    expect(status).toBe(201);
    const query = { operation: "addDatasetRows", target: dataset.dataset_id };
    const { body } = await tenant.secret.get("/v2/audit-log", { query });
    const row_ids = added.rows.slice(0, 20).map((row: { row_id: string }) => row.row_id);
    expect(body.data).toHaveLength(1);
    expect(body.data[0].changes).toEqual({ rows: { after: 30 }, row_ids: { after: row_ids } });
  });

  it("has no entry for a rejected request, and none for runs, because each run records who started it", async () => {
    const refused = randomUUID();
    const headers = { "x-request-id": refused };
    expect((await tenant.secret.post("/v2/projects", { nam: "x" }, { headers })).status).toBe(422);
    expect((await tenant.secret.patch(`/v2/projects/${randomUUID()}`, { name: "x" }, { headers })).status).toBe(404);
    const { body: run } = await tenant.secret.post("/v2/runs", { project_id: ids["flow_id"], inputs: { "in-0": "x" } });
    const { body } = await tenant.secret.get("/v2/audit-log", { query: { target: run.run_id } });
    expect([await entriesOf(refused, "createProject"), await entriesOf(refused, "changeProject"), body.data]).toEqual([
      [],
      [],
      [],
    ]);
  });

  it("contains no secret, and nothing of another organisation", async () => {
    const log = await (await tenant.secret.raw("GET", "/v2/audit-log/export")).text();
    expect(log.split("\n").length).toBeGreaterThan(audited.length);
    expect(shown.length).toBeGreaterThanOrEqual(3);
    for (const secret of [...shown, CREDENTIAL, PASSWORD, tenant.secretKey, tenant.publicKey])
      expect(log).not.toContain(secret);
    const theirs = await (await stranger.secret.raw("GET", "/v2/audit-log/export")).text();
    const lines = theirs
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).operation);
    expect(new Set(lines)).toEqual(new Set(["orgs create", "keys create", "exportAuditLog"]));
  });

  it("returns 403 to editors and public keys", async () => {
    const editor = await tenant.user("editor");
    for (const api of [editor, tenant.public])
      for (const path of ["/v2/audit-log", "/v2/audit-log/export"]) expect((await api.get(path)).status).toBe(403);
  });
});
