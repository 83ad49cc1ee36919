import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { scopeOf } from "../../../src/api/auth/operation-scope.ts";
import { namesProject } from "../../../src/api/auth/project-roles.ts";
import { SCOPES } from "../../../src/domain/accounts/key-limits.ts";
import type { Operation } from "../../../src/api/http/operation.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { RequestOptions, TestClient } from "../../support/client.ts";
import { checkedClient, operations } from "../http/conformance.ts";
import { echoFlow } from "../echo-flow.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
let org: TestOrganisation;
let mine: TestClient;
let project: string;
let other: string;
beforeAll(async () => {
  // The requests come through a trusted proxy on this machine, which sends the client's address.
  api = await startInProcess({ env: { MILLRACE_TRUSTED_PROXIES: "127.0.0.1,::1" } });
  org = await createOrganisation(api);
  mine = checkedClient(api, org.secretKey);
  const made = await Promise.all(["mine", "other"].map((name) => mine.post("/v2/projects", { name })));
  [project, other] = made.map(({ body }) => body.project_id) as [string, string];
  for (const id of [project, other])
    expect((await mine.post(`/v2/projects/${id}/versions`, { flow: echoFlow(), publish: true })).status).toBe(201);
});
afterAll(() => api.close());

async function keyWith(limits: Record<string, unknown>, kind = "secret"): Promise<TestClient> {
  const { status, body } = await mine.post("/v2/api-keys", { name: "limited", kind, ...limits });
  expect([status, body]).toEqual([201, expect.objectContaining(limits)]);
  return checkedClient(api, body.key);
}

const guarded = operations.filter(({ auth }) => auth !== "none");
const scopeName = (operation: Operation): string => Object.values(scopeOf(operation)).join(":");

/** Calls an operation with IDs that do not exist, so that it changes nothing. */
function call(as: TestClient, { method, path }: Operation, options: RequestOptions = {}) {
  const address = path.replaceAll(/\{(\w+)\}/g, uuidv7());
  const verb = method.toLowerCase() as "get" | "post" | "patch" | "put" | "delete";
  return verb === "get" || verb === "delete" ? as[verb](address, options) : as[verb](address, {}, options);
}

describe("the scopes of a key", () => {
  /** The scope whose absence made the API reject the operation. */
  async function missing(key: TestClient, operation: Operation): Promise<string | undefined> {
    const { body } = await call(key, operation);
    return body?.code === "missing_scope" ? body.scope : undefined;
  }

  it("are each enough to call their own operations", async () => {
    const names = [...new Set(guarded.map(scopeName))].filter((name) => SCOPES.includes(name));
    for (const name of names) {
      const key = await keyWith({ scopes: [name] });
      for (const operation of guarded.filter((each) => scopeName(each) === name))
        expect([operation.id, await missing(key, operation)]).toEqual([operation.id, undefined]);
    }
  });

  it.each(["audit:read", "runs:read", "runs:write"])("reject every operation that %s does not cover", async (name) => {
    const key = await keyWith({ scopes: [name] });
    for (const operation of guarded.filter((each) => scopeName(each) !== name))
      expect([operation.id, await missing(key, operation)]).toEqual([operation.id, scopeName(operation)]);
  });

  it("are written with the capability first, and `*` covers read and write", async () => {
    const key = await keyWith({ scopes: ["knowledge:*"] });
    expect((await key.get("/v2/knowledge-bases")).status).toBe(200);
    expect((await key.post("/v2/knowledge-bases", {})).status).toBe(422);
    const refused = await key.get("/v2/runs");
    expect(refused).toMatchObject({ status: 403, body: { code: "missing_scope", scope: "runs:read" } });
  });

  it("do not turn a public key into a secret key", async () => {
    const key = await keyWith({ scopes: ["runs:*"] }, "public");
    expect(await key.get("/v2/runs")).toMatchObject({ status: 403, body: { code: "forbidden" } });
  });
});

describe("a read-only key", () => {
  it("rejects exactly the operations that change something", async () => {
    const key = await keyWith({ read_only: true });
    for (const operation of guarded) {
      const { body } = await call(key, operation);
      const isRefused = body?.code === "key_restricted" && body.restriction === "read_only";
      expect([operation.id, isRefused]).toEqual([operation.id, scopeOf(operation).access === "write"]);
    }
    // These operations read, although they do not use GET; a new one must be reviewed here.
    const reads = guarded.filter((each) => each.method !== "GET" && scopeOf(each).access === "read");
    const known = ["compareExperiments", "evaluateExpression", "queryKnowledgeBase", "validateFlow"];
    expect(reads.map(({ id }) => id).toSorted()).toEqual(known);
  });
});

describe("restricted keys", () => {
  it.each([
    { scopes: ["keys:read", "users:read", "runs:*"] },
    { allowed_addresses: ["127.0.0.1", "::1"] },
    { projects: "mine" },
  ])("cannot create keys or users: %j", async (limits) => {
    const key = await keyWith(limits.projects === undefined ? limits : { projects: [project] });
    for (const [path, body] of [
      ["/v2/api-keys", { name: "wider", kind: "secret" }],
      ["/v2/users", { email: "wider@example.test", password: "correct horse battery", role: "admin" }],
    ] as const)
      expect((await key.post(path, body)).body.code).toBe("missing_scope");
  });

  it("cannot decrypt payloads", async () => {
    const key = await keyWith({ scopes: ["service:*"] });
    expect((await key.post("/temporal/codec/decode", { payloads: [] })).body.code).toBe("key_restricted");
    expect((await mine.post("/temporal/codec/decode", { payloads: [] })).status).toBe(200);
  });
});

describe("the projects of a key", () => {
  const refused = { status: 403, body: { code: "key_restricted", restriction: "projects" } };

  it("allow requests about these projects", async () => {
    const key = await keyWith({ projects: [project] });
    expect((await key.get(`/v2/projects/${project}`)).status).toBe(200);
    expect((await key.get(`/v2/projects/${project.toUpperCase()}`)).status).toBe(200);
    expect((await key.get("/v2/runs", { query: { project_id: project } })).status).toBe(200);
    expect((await key.post("/v2/runs", { project_id: project, inputs: { "in-0": "a" } })).status).toBe(201);
    const listed = await key.post(`/mcp?flow_id=${project}`, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    expect(listed.body.result.tools).toHaveLength(2);
    const checked = { flow: echoFlow(), project_id: project };
    expect((await key.post("/v2/flows/validate", checked)).body).toMatchObject({ valid: true });
    const asked = { language: "cel", source: "1 + 1", project_id: project };
    expect((await key.post("/v2/flows/evaluate", asked)).body).toEqual({ value: 2, error: null });
    // The key may run the flow, so the only error is the missing input.
    expect((await key.post(`/inference/v0/run/${org.org_id}/${project}`, {})).status).toBe(422);
  });

  it("reject requests about other projects and requests that name no project", async () => {
    const key = await keyWith({ projects: [project] });
    const asked = await Promise.all([
      key.get(`/v2/projects/${other}`),
      key.get("/v2/projects"),
      key.get("/v2/runs"),
      key.post("/v2/flows/validate", { flow: echoFlow() }),
      key.post("/v2/flows/validate", { flow: echoFlow(), project_id: other }),
      key.post("/v2/flows/evaluate", { language: "cel", source: "1" }),
      key.post("/v2/flows/evaluate", { language: "cel", source: "1", project_id: other }),
      key.get("/v2/runs", { query: { project_id: other } }),
      key.post("/v2/runs", { flow_id: other, inputs: {} }),
      key.get(`/v2/runs/${uuidv7()}`),
      key.post(`/inference/v0/run/${org.org_id}/${other}`, {}),
      key.post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }),
      key.post(`/mcp?flow_id=${project}&flow_id=${other}`, { jsonrpc: "2.0", id: 1, method: "tools/list" }),
    ]);
    for (const answer of asked) expect(answer).toMatchObject(refused);
  });

  it("apply to runs by the project of the run", async () => {
    const [run, theirs] = await Promise.all(
      [project, other].map(async (project_id) => {
        const made = await mine.post("/v2/runs", { project_id, inputs: { "in-0": "a" } });
        return String(made.body.run_id);
      }),
    );
    const key = await keyWith({ projects: [project] });
    expect((await key.get(`/v2/runs/${run}`)).status).toBe(200);
    expect(await key.get(`/v2/runs/${theirs}`)).toMatchObject(refused);
    expect(await key.post(`/v2/runs/${theirs}/cancel`)).toMatchObject(refused);
  });

  it("allow exactly these operations; a new operation must be added here", async () => {
    const key = await keyWith({ projects: [project] });
    for (const operation of guarded.filter((each) => !namesProject(each))) {
      const { body } = await call(key, operation);
      expect([operation.id, body?.code]).not.toEqual([operation.id, undefined]);
    }
    const admitted = guarded.filter(
      (each) => namesProject(each) && !/\{(project_id|flow_id|flow|run_id)\}/.test(each.path),
    );
    expect(admitted.map(({ id }) => id).toSorted()).toEqual([
      "callMcp",
      "changeTrigger",
      "createRun",
      "createTrigger",
      "deleteTrigger",
      "evaluateExpression",
      "getPause",
      "getRunStatistics",
      "getTrigger",
      "getTriggerFiring",
      "listPauses",
      "listRuns",
      "listTriggerFirings",
      "listTriggers",
      "repeatTriggerFiring",
      "testTrigger",
      "uploadDocument",
      "uploadDocumentOlderName",
      "validateFlow",
    ]);
  });

  it("must belong to the organisation", async () => {
    const stranger = await createOrganisation(api);
    const theirs = (await checkedClient(api, stranger.secretKey).post("/v2/projects", { name: "theirs" })).body;
    for (const id of [theirs.project_id, uuidv7()]) {
      const answer = await mine.post("/v2/api-keys", { name: "a", kind: "secret", projects: [project, id] });
      expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ["body", "projects", 1]]);
    }
  });
});

describe("the allowed_addresses of a key", () => {
  it.each([
    ["192.0.2.0/24", "192.0.2.9", 200],
    ["192.0.2.0/24", "::ffff:192.0.2.9", 200],
    ["192.0.2.0/24", "192.0.3.9", 403],
    ["192.0.2.0/24", "2001:db8::1", 403],
    ["2001:db8::/32", "2001:db8:5::1", 200],
    ["2001:db8::/32", "2001:db9::1", 403],
    ["2001:db8::1", "2001:0db8:0::0001", 200],
    ["192.0.2.9", "192.0.2.10", 403],
    // Addresses before the last were written by the client and must be ignored.
    ["192.0.2.9", "192.0.2.9, 203.0.113.1", 403],
  ])("%s and a client at %s: status %i", async (allowed, from, status) => {
    const key = await keyWith({ allowed_addresses: [allowed] });
    const answer = await key.get("/v2/limits", { headers: { "x-forwarded-for": from } });
    expect([answer.status, answer.body.restriction]).toEqual([
      status,
      status === 403 ? "allowed_addresses" : undefined,
    ]);
  });
});

describe("the allowed_origins of a key", () => {
  it.each([
    [{ origin: "https://shop.example" }, 200],
    [{ origin: "https://shop.example.evil.test" }, 403],
    [{ origin: "http://shop.example" }, 403],
    [{ origin: "null" }, 403],
    [{}, 403],
  ] as const)("%j: status %i", async (headers, status) => {
    const key = await keyWith({ allowed_origins: ["https://shop.example"] });
    const answer = await key.get("/v2/limits", { headers });
    expect([answer.status, answer.body.restriction]).toEqual([status, status === 403 ? "allowed_origins" : undefined]);
  });
});

describe("invalid restrictions", () => {
  it.each([
    [{ scopes: ["runs"] }, "scopes"],
    [{ scopes: ["keys:write"] }, "scopes"],
    [{ scopes: [] }, "scopes"],
    [{ projects: ["x"] }, "projects"],
    [{ allowed_origins: ["https://shop.example/"] }, "allowed_origins"],
    [{ allowed_origins: ["*"] }, "allowed_origins"],
    [{ allowed_addresses: ["192.0.2.0/33"] }, "allowed_addresses"],
    [{ allowed_addresses: ["example.com"] }, "allowed_addresses"],
    [{ read_only: "yes" }, "read_only"],
  ])("are rejected: %j", async (limits, place) => {
    const answer = await mine.post("/v2/api-keys", { name: "a", kind: "secret", ...limits });
    expect([answer.status, answer.body.detail[0].loc[1]]).toEqual([422, place]);
  });
});
