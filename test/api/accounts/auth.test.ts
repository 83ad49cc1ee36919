import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKey } from "../../../src/cli/accounts.ts";
import type { Operation } from "../../../src/api/http/operation.ts";
import { roleAllows } from "../../../src/domain/accounts/principal.ts";
import { generateApiKey } from "../../../src/platform/secrets/crypto.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import { client, type Answer, type RequestOptions } from "../../support/client.ts";
import { signedInUser } from "./accounts.ts";
import { checkedClient, expectDocumented, operations } from "../http/conformance.ts";
import { NEEDED_QUERY } from "../../security/foreign-ids.ts";
import { echoFlow } from "../echo-flow.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
let org: TestOrganisation;
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api);
});
afterAll(() => api.close());

const UNKNOWN = "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d";
const guarded = operations
  .filter((operation) => operation.auth !== "none")
  .map((operation) => [operation.id, operation] as const);
/** Listed here instead of derived from the declarations, so that a mistake there cannot open other operations to public keys. */
const PUBLIC = [
  "callMcp",
  "deleteDocuments",
  "getDeployedFlowRun",
  "giveFeedback",
  "listDocuments",
  "runDeployedFlow",
  "streamDeployedFlow",
  "uploadDocument",
  "uploadDocumentOlderName",
];
const OPEN = [
  "answerHandshake",
  "cancelPageRun",
  "changePageConversation",
  "createToken",
  "decodePayloads",
  "deletePageConversation",
  "deletePageDocument",
  "encodePayloads",
  "enterPage",
  "finishProviderSignIn",
  "getDocs",
  "getHealth",
  "getMetrics",
  "getOpenApi",
  "getPageConversation",
  "getPageRun",
  "getReadiness",
  "getRoot",
  "listPageConversations",
  "listPageDocuments",
  "listPageMessages",
  "listSignInProviders",
  "openSession",
  "ratePageRun",
  "receiveWebhook",
  "resumePageRun",
  "showPage",
  "startPageRun",
  "startProviderSignIn",
  "uploadPageDocument",
];
const v2 = guarded.filter(([id]) => !PUBLIC.includes(id));

/** Calls an operation with IDs filled in and the body of its first example. */
async function call(
  operation: Operation,
  credential: string | undefined,
  ids: Record<string, string> = {},
  options: RequestOptions = {},
): Promise<Answer> {
  const path = operation.path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => ids[name] ?? (["version", "revision"].includes(name) ? "1" : UNKNOWN),
  );
  const body =
    operation.method === "GET" || operation.method === "DELETE"
      ? undefined
      : (Object.values(operation.examples ?? {})[0] ?? {});
  const response = await client(api, credential).raw(operation.method, path, body, options);
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const answer = {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== "" ? JSON.parse(text) : text,
  };
  expectDocumented(operation.method, path, answer);
  return answer;
}

describe("without a valid credential", () => {
  it.each(guarded)("%s returns 401 and says how to sign in", async (_, operation) => {
    const answer = await call(operation, undefined);
    expect(answer).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="millrace"');
  });

  it("returns the same response for every wrong credential", async () => {
    const wrong = [
      "nonsense",
      generateApiKey("secret").value,
      `${org.secretKey.slice(0, -1)}${org.secretKey.endsWith("a") ? "b" : "a"}`,
      org.secretKey.toUpperCase(),
      "x".repeat(5000),
      "' or 1=1 --",
    ];
    const answers = await Promise.all(
      wrong.map((credential) =>
        checkedClient(api, credential).get("/v2/limits", { headers: { "X-Request-Id": "same" } }),
      ),
    );
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([401]));
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBeLessThanOrEqual(2);
    expect(answers[1]?.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });

  it.each(["Basic dXNlcjpwYXNz", "Bearer", "Bearer a b", "mr_sec_x"])(
    "rejects the header %j",
    async (authorization) => {
      expect((await checkedClient(api).get("/v2/limits", { headers: { authorization } })).status).toBe(401);
    },
  );

  it("accepts the authentication scheme in any case, as HTTP requires", async () => {
    const headers = { authorization: `bearer ${org.secretKey}` };
    expect((await checkedClient(api).get("/v2/limits", { headers })).status).toBe(200);
  });

  it("does not accept a credential in the query", async () => {
    expect((await checkedClient(api).get(`/v2/projects?access_token=${org.secretKey}`)).status).toBe(401);
  });

  it("rejects an expired key", async () => {
    const expires_at = new Date(Date.now() + 700).toISOString();
    const key = await createKey(api.db, { org_id: org.org_id, name: "short", kind: "secret", expires_at });
    const mine = checkedClient(api, key.value);
    expect((await mine.get("/v2/limits")).status).toBe(200);
    // The cache must not keep the key valid beyond its expiry.
    await expect.poll(async () => (await mine.get("/v2/limits")).status, { timeout: 2000 }).toBe(401);
  });
});

describe("with a public key", () => {
  it("allows only operations that run flows and manage their documents", () => {
    const ids = (auth: string) => operations.filter((each) => each.auth === auth).map(({ id }) => id);
    expect(ids("public").toSorted()).toEqual(PUBLIC);
    expect(ids("none").toSorted()).toEqual(OPEN);
  });

  it.each(v2)("%s returns 403", async (_, operation) => {
    expect(await call(operation, org.publicKey)).toMatchObject({ status: 403, body: { code: "forbidden" } });
  });
});

describe("with a user's role", () => {
  const tokens: Record<string, string> = {};
  beforeAll(async () => {
    for (const role of ["viewer", "editor", "admin"] as const)
      tokens[role] = (await signedInUser(api, org.org_id, role)).access;
  });

  it.each(v2)("%s is allowed for exactly the roles that the contract names", async (_, operation) => {
    const needed = operation.role ?? (operation.method === "GET" ? "viewer" : "editor");
    for (const role of ["viewer", "editor", "admin"] as const) {
      // The unknown query parameter makes the API reject the request of an allowed role before it takes effect.
      const { status } = await call(operation, tokens[role], {}, { query: { only: "looking" } });
      if (roleAllows(role, needed)) expect(status).not.toBe(403);
      else expect(status).toBe(403);
      expect(status).not.toBe(401);
    }
  });

  it("lets a viewer read, an editor write and only an admin manage keys and users", async () => {
    const [viewer, editor, admin] = ["viewer", "editor", "admin"].map((role) => checkedClient(api, tokens[role]));
    expect((await viewer?.get("/v2/projects"))?.status).toBe(200);
    expect((await viewer?.post("/v2/projects", { name: "A" }))?.status).toBe(403);
    expect((await viewer?.post("/v2/flows/validate", { flow: echoFlow() }))?.status).toBe(200);
    expect((await editor?.post("/v2/projects", { name: "A" }))?.status).toBe(201);
    for (const path of ["/v2/api-keys", "/v2/users"]) {
      expect((await viewer?.get(path))?.status).toBe(403);
      expect((await editor?.get(path))?.status).toBe(403);
      expect((await admin?.get(path))?.status).toBe(200);
    }
  });
});

describe("cross-tenant: another organisation's IDs", () => {
  let ids: Record<string, string>;
  let theirState: () => Promise<unknown>;
  let before: unknown;
  beforeAll(async () => {
    const stranger = await createOrganisation(api);
    const theirs = client(api, stranger.secretKey);
    const { body: project } = await theirs.post("/v2/projects", { name: "Theirs", flow: echoFlow() });
    const user = await signedInUser(api, stranger.org_id, "viewer");
    const { body: keys } = await theirs.get("/v2/api-keys");
    ids = { project_id: project.project_id, key_id: keys.data[0].key_id, user_id: user.user_id };
    theirState = async () => {
      const { body: versions } = await theirs.get(`/v2/projects/${project.project_id}/versions`);
      const lists = ["/v2/projects", "/v2/users"].map(async (path) => (await theirs.get(path)).body.data);
      const { body: now } = await theirs.get("/v2/api-keys");
      return [versions, await Promise.all(lists), now.data.map((key: { key_id: string }) => key.key_id)];
    };
    before = await theirState();
  });

  it.each(guarded.filter(([, operation]) => operation.path.includes("{") && operation.path.startsWith("/v2/")))(
    "%s returns the same bytes for them as for unknown IDs",
    async (_, operation) => {
      const options = { headers: { "X-Request-Id": "same" }, query: NEEDED_QUERY[operation.id] ?? {} };
      const unknown = await call(operation, org.secretKey, {}, options);
      const foreign = await call(operation, org.secretKey, ids, options);
      expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
    },
  );

  it("change none of the other organisation's data in all these calls", async () => {
    expect(await theirState()).toEqual(before);
  });
});

it("records the last use of a key, to the minute and without delaying the request", async () => {
  const key = await createKey(api.db, { org_id: org.org_id, name: "used", kind: "secret" });
  const before = Date.now();
  expect((await checkedClient(api, key.value).get("/v2/limits")).status).toBe(200);
  const lastUse = async (): Promise<number> => {
    const { body } = await checkedClient(api, org.secretKey).get("/v2/api-keys", { query: { page_size: 200 } });
    const found = body.data.find((each: { key_id: string }) => each.key_id === key.key_id);
    return Date.parse(found.last_used_at ?? "1970-01-01");
  };
  await expect.poll(lastUse, { timeout: 5000 }).toBeGreaterThanOrEqual(before - 1);
});

describe("cross-origin calls", () => {
  it("are allowed for the operations of public keys, without browser credentials", async () => {
    const preflight = await client(api).raw("OPTIONS", "/v2/projects", undefined, {
      headers: { origin: "https://shop.example", "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, null]);
    const open = operations.find((operation) => operation.auth === "public");
    if (open === undefined) return;
    const path = open.path.replaceAll(/\{\w+\}/g, UNKNOWN);
    const allowed = await client(api).raw("OPTIONS", path, undefined, { headers: { origin: "https://shop.example" } });
    expect(allowed.headers.get("access-control-allow-origin")).toBe("*");
    expect(allowed.headers.get("access-control-allow-headers")).toContain("Authorization");
    expect(allowed.headers.get("access-control-allow-credentials")).toBeNull();
    // Error responses must be readable from another origin, too.
    const refused = await client(api).raw(open.method, path);
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, "*"]);
  });

  it("can be disabled", async () => {
    const closed = await startInProcess({ env: { MILLRACE_CORS: "false" } });
    const open = operations.find((operation) => operation.auth === "public");
    const path = (open?.path ?? "/v2/projects").replaceAll(/\{\w+\}/g, UNKNOWN);
    const answer = await client(closed).raw("OPTIONS", path);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    await closed.close();
  });
});
