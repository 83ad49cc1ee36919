import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKey, createOrganisation } from "../../../src/cli/accounts.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { checkedClient, operations } from "../http/conformance.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";
import { signedInUser } from "../accounts/accounts.ts";
import { echoFlow } from "../echo-flow.ts";

const RUN = "0197f0a0-0000-7000-8000-000000000000";
let api: InProcessApi;
let limited: InProcessApi;
let unused: HttpTarget;
let org: string;
let flow: string;
let secret: string;
let publicKey: string;
let viewer: string;

beforeAll(async () => {
  api = await startInProcess({ env: { MILLRACE_JSON_LIMIT_BYTES: "2048", MILLRACE_RUN_BODY_LIMIT_BYTES: "4096" } });
  ({ org_id: org } = await createOrganisation(api.db, "test"));
  secret = (await createKey(api.db, { org_id: org, name: "s", kind: "secret" })).value;
  publicKey = (await createKey(api.db, { org_id: org, name: "p", kind: "public" })).value;
  viewer = (await signedInUser(api, org, "viewer")).access;
  const created = await checkedClient(api, secret).post("/v2/projects", { name: "Echo", flow: echoFlow() });
  flow = created.body.project_id;
  limited = await startInProcess({ databaseUrl: api.databaseUrl, env: { MILLRACE_RATE_LIMIT: "1" } });
  unused = await startHttpTarget();
});
afterAll(async () => {
  await Promise.all([limited.close(), unused.close()]);
  await api.close();
});

interface Case {
  readonly id: string;
  readonly method: "get" | "post" | "delete";
  readonly path: () => string;
  readonly body?: unknown;
}

const upload = (path: string) => () => `${path}?org=${org}&user_id=u&flow_id=${flow}`;
const CASES: readonly Case[] = [
  { id: "runDeployedFlow", method: "post", path: () => `/inference/v0/run/${org}/${flow}`, body: {} },
  { id: "streamDeployedFlow", method: "post", path: () => `/inference/v0/stream/${org}/${flow}`, body: {} },
  { id: "getDeployedFlowRun", method: "get", path: () => `/inference/v0/run/${org}/${flow}/metadata?run_id=${RUN}` },
  {
    id: "giveFeedback",
    method: "post",
    path: () => `/inference/v0/feedback/${org}/${flow}`,
    body: { run_id: RUN, feedback: "positive" },
  },
  { id: "uploadDocument", method: "post", path: upload("/upload_to_storage_user") },
  { id: "uploadDocumentOlderName", method: "post", path: upload("/upload_to_supabase_user") },
  { id: "listDocuments", method: "get", path: () => `/documents/${org}/${flow}/doc-0/u` },
  { id: "deleteDocuments", method: "delete", path: () => `/documents/${org}/${flow}/doc-0/u` },
  { id: "createRun", method: "post", path: () => "/v2/runs", body: { project_id: RUN, inputs: {} } },
  { id: "callMcp", method: "post", path: () => "/mcp", body: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
  { id: "listRuns", method: "get", path: () => "/v2/runs" },
  { id: "getRunStatistics", method: "get", path: () => "/v2/run-statistics" },
  { id: "listPauses", method: "get", path: () => "/v2/pauses" },
  { id: "getPause", method: "get", path: () => `/v2/pauses/${RUN}` },
  { id: "getRun", method: "get", path: () => `/v2/runs/${RUN}` },
  { id: "getRunNode", method: "get", path: () => `/v2/runs/${RUN}/node?path=in-0` },
  { id: "getRunNodeValue", method: "get", path: () => `/v2/runs/${RUN}/node/value?path=in-0` },
  { id: "cancelRun", method: "post", path: () => `/v2/runs/${RUN}/cancel`, body: {} },
  { id: "createRunJob", method: "post", path: () => "/v2/run-jobs", body: { action: "cancel", filter: {} } },
  { id: "listRunJobs", method: "get", path: () => "/v2/run-jobs" },
  { id: "getRunJob", method: "get", path: () => `/v2/run-jobs/${RUN}` },
  { id: "abortRunJob", method: "post", path: () => `/v2/run-jobs/${RUN}/abort` },
  { id: "resumeRun", method: "post", path: () => `/v2/runs/${RUN}/resume`, body: { from: "failed" } },
];
const operationOf = (id: string) => operations.find((operation) => operation.id === id);
const call = (
  { method, path, body }: Case,
  credential: string | undefined,
  more: { path?: string; body?: unknown; at?: InProcessApi; type?: string } = {},
) => {
  const client = checkedClient(more.at ?? api, credential);
  const address = more.path ?? path();
  const options = more.type === undefined ? {} : { headers: { "content-type": more.type } };
  return method === "post" ? client.post(address, more.body ?? body, options) : client[method](address, options);
};

describe("a burst of asynchronous run requests", () => {
  it("inserts a few runs at a time; a request that waits longer than a second gets 429 and creates no run", async () => {
    const post = () => checkedClient(api, secret).post("/v2/runs", { project_id: flow, inputs: { "in-0": "x" } });
    const posts = await api.db.systemTransaction(async (db) => {
      // The lock prevents all inserts until this transaction ends.
      await db.query("lock table runs in share row exclusive mode");
      const all = [post(), post(), post()];
      await Promise.race(all);
      return all;
    });
    const answers = await Promise.all(posts);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 429]);
    const refused = answers.find(({ status }) => status === 429);
    expect([refused?.body.code, refused?.headers.get("retry-after")]).toEqual(["too_many_new_runs", "1"]);
    const { body } = await checkedClient(api, secret).get("/v2/runs");
    expect(body.data).toHaveLength(2);
    expect((await post()).status).toBe(201);
  });
});

describe("every operation on runs and documents", () => {
  it("is listed in this table", () => {
    const tags = ["Run Flow", "Runs", "Documents"];
    const ids = operations.filter(({ tag }) => tags.includes(tag)).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(CASES.map(({ id }) => id).toSorted());
  });

  it.each(CASES)("$id returns 401 without a credential, or with an invalid one", async (each) => {
    for (const credential of [undefined, "mr_sec_wrong"]) {
      const { status, headers } = await call(each, credential);
      expect([status, headers.get("www-authenticate")]).toEqual([401, expect.stringMatching(/^Bearer/)]);
    }
  });

  it.each(CASES)("$id returns 403 without the required role", async (each) => {
    const operation = operationOf(each.id);
    if (operation?.auth === "secret") expect((await call(each, publicKey)).status).toBe(403);
    const multipart = operation?.multipart !== undefined;
    const form = new FormData();
    form.append("file", new Blob(["x"]), "a.txt");
    const reads = each.method === "get";
    expect((await call(each, viewer, multipart ? { body: form } : {})).status === 403).toBe(!reads);
  });

  it.each(CASES)("$id returns 405 for another method, and names the allowed ones", async (each) => {
    const path = each.path().replace(/\?.*/, "");
    const answer = await checkedClient(api, secret).put(path, {});
    expect([answer.status, answer.headers.get("allow")]).toEqual([
      405,
      expect.stringContaining(each.method.toUpperCase()),
    ]);
  });

  // The inference operations accept unknown parameters, because existing callers send some.
  it.each(CASES.filter(({ id }) => operationOf(id)?.tag !== "Run Flow"))(
    "$id returns 422 for an unknown parameter",
    async (each) => {
      const path = `${each.path()}${each.path().includes("?") ? "&" : "?"}unknown=1`;
      const form = new FormData();
      form.append("file", new Blob(["x"]), "a.txt");
      const body = operationOf(each.id)?.multipart ? form : undefined;
      const { status, body: problem } = await call(each, secret, { path, ...(body && { body }) });
      expect(status).toBe(422);
      expect(problem.detail).toContainEqual({
        loc: ["query", "unknown"],
        msg: expect.any(String),
        type: "extra_forbidden",
      });
    },
  );

  it.each(CASES.filter(({ body }) => body !== undefined))(
    "$id returns 413 over its limit and 415 for a body that is not JSON",
    async (each) => {
      const long = await call(each, secret, { body: { in: "x".repeat(8192) } });
      expect([long.status, long.body.code]).toEqual([413, "payload_too_large"]);
      expect((await call(each, secret, { body: "a=b", type: "text/plain" })).status).toBe(415);
      const broken = await call(each, secret, { body: "{", type: "application/json" });
      expect([broken.status, broken.body.detail[0].loc[0]]).toEqual([422, "body"]);
    },
  );

  it.each(CASES)("$id returns 429 over the rate limit", async (each) => {
    const { value } = await createKey(api.db, { org_id: org, name: each.id, kind: "secret" });
    await call({ id: "listRuns", method: "get", path: () => "/v2/runs" }, value, { at: limited });
    const { status, headers } = await call(each, value, { at: limited });
    expect([status, headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^\d+$/)]);
  });

  it("returns 503 if the database does not respond", async () => {
    const unreachable = await startInProcess({ databaseUrl: `postgres://nobody:x@127.0.0.1:${unused.port}/none` });
    try {
      for (const each of CASES) {
        const { status, body, headers } = await call(each, secret, { at: unreachable });
        expect([each.id, status, body.code, headers.get("retry-after")]).toEqual([
          each.id,
          503,
          "service_unavailable",
          "2",
        ]);
      }
    } finally {
      await unreachable.close();
    }
  });

  it("accepts a run even if no worker is running", async () => {
    const client = checkedClient(api, publicKey);
    const answer = await client.post(
      `/inference/v0/run/${org}/${flow}`,
      { "in-0": "x" },
      { headers: { prefer: "wait=0" } },
    );
    expect([answer.status, answer.body.state]).toEqual([202, "PENDING"]);
  });
});
