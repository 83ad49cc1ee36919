import { deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asking, echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { rawRequest } from "../api/http/raw-request.ts";
import { places, subscribe, verifies } from "../api/webhooks/webhooks.ts";
import { buildPdf, deflated } from "../fixtures/documents/pdf.ts";
import { edges, flow, node } from "../support/flows.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { startService, type OwnService } from "../support/service.ts";

// Requests over HTTP to a separate installation. What single operations refuse is tested in test/api; these must not
// harm the installation or other organisations' work.

let service: OwnService;
let tenant: ApiTenant;
let documents: string;
beforeAll(async () => {
  service = await startService();
  tenant = await openTenant(service);
  const reading = flow({ nodes: [node("doc-0", "files"), node("out-0", "output")], edges: edges("doc-0 > out-0") });
  documents = await tenant.deploy(reading);
});
afterAll(() => service?.close());

const MIB = 1024 * 1024;

async function upload(user_id: string, filename: string, bytes: Uint8Array): Promise<void> {
  const form = new FormData();
  form.set("file", new Blob([bytes]), filename);
  const query = { org: tenant.org_id, user_id, flow_id: documents, node_id: "doc-0" };
  const { status, body } = await tenant.public.post("/upload_to_storage_user", form, { query });
  expect(status, JSON.stringify(body)).toBe(200);
}

interface ReadDocument {
  readonly filename: string;
  readonly text: string;
  readonly error?: { readonly code: string } | null;
}

/** Runs a flow that waits for the user's documents; returns the status of each. */
async function read(user_id: string): Promise<readonly ReadDocument[]> {
  const { status, body } = await tenant.secret.post("/v2/runs", {
    project_id: documents,
    inputs: {},
    user_id,
    mode: "sync",
    wait_seconds: 100,
  });
  expect([status, body.state]).toEqual([201, "COMPLETED"]);
  return body.outputs["out-0"].documents;
}

describe("pdf-bomb, zip-bomb", () => {
  it(
    "a hostile document gets status error, other documents are read, and the worker keeps running",
    { timeout: 150_000 },
    async () => {
      const blanks = deflateSync(Buffer.alloc(400 * MIB, " "), { level: 1 });
      const { stream } = deflated(blanks, 1);
      await upload("bomb-1", "good.txt", Buffer.from("good"));
      await upload("bomb-1", "bomb.pdf", buildPdf([{ stream, filter: "[/FlateDecode /FlateDecode]" }]));
      await upload("bomb-1", "broken.pdf", Buffer.from("%PDF-1.7 and then nothing"));
      const pids = service.worker.map((each) => each.pid());
      const found = Object.fromEntries((await read("bomb-1")).map((each) => [each.filename, each]));
      expect(found["good.txt"]).toMatchObject({ text: "good" });
      expect(found["bomb.pdf"]?.error?.code).toMatch(/^document_/);
      expect(found["broken.pdf"]?.error?.code).toMatch(/^document_/);
      const list = await tenant.public.get(`/documents/${tenant.org_id}/${documents}/doc-0/bomb-1`);
      const states = list.body.data.map(
        (each: { filename: string; status: string }) => `${each.filename} ${each.status}`,
      );
      expect(states.toSorted()).toEqual(["bomb.pdf error", "broken.pdf error", "good.txt indexed"]);
      expect(service.worker.map((each) => [each.running(), each.pid()])).toEqual(pids.map((pid) => [true, pid]));
    },
  );
});

describe("content-confusion", () => {
  it("a body that only claims to contain an upload cannot make the server read a file", async () => {
    const query = `org=${tenant.org_id}&user_id=posing-1&flow_id=${documents}&node_id=doc-0`;
    const posing = JSON.stringify({ files: { file: [{ filepath: "/etc/passwd", originalFilename: "a.txt" }] } });
    for (const type of [
      "application/json",
      "multipart/form-data",
      "multipart/form-data; boundary=",
      "multipart/mixed; boundary=x",
    ]) {
      const headers = { "content-type": type };
      const answer = await tenant.public.post(`/upload_to_storage_user?${query}`, posing, { headers });
      expect([type, answer.status]).toEqual([type, 415]);
    }
    const list = await tenant.public.get(`/documents/${tenant.org_id}/${documents}/doc-0/posing-1`);
    expect(list.body.data).toEqual([]);
  });
});

describe("path-traversal", () => {
  it.each(["..", "../../etc/passwd", "/etc/passwd", "..\\..\\x", "%2e%2e%2f", "a".repeat(256), "con", "."])(
    "the user ID %.20j is only a name, and no other user ID gives its documents",
    async (user_id) => {
      await upload(user_id, "mine.txt", Buffer.from(`of ${user_id}`));
      expect((await read(user_id)).map(({ text }) => text)).toEqual([`of ${user_id}`]);
    },
  );
});

describe("webhook-abuse", () => {
  let target: HttpTarget;
  beforeAll(async () => {
    target = await startHttpTarget();
  });
  afterAll(() => target?.close());

  /** Creates a webhook, sends a test event, and returns the first attempt. */
  async function tried(path: string, members: Record<string, unknown> = {}) {
    const subscription = await subscribe(tenant.secret, {
      url: `${target.url}${path}`,
      events: ["skill.*"],
      ...members,
    });
    const { body } = await tenant.secret.post(`${subscription.path}/test`);
    const address = `${subscription.path}/deliveries/${body.delivery_id}`;
    await expect.poll(async () => (await tenant.secret.get(address)).body.attempts).toBeGreaterThan(0);
    const [attempt] = (await tenant.secret.get(address)).body.attempts_made;
    await tenant.secret.delete(subscription.path);
    return { attempt, secret: subscription.secret };
  }

  it("a receiver cannot redirect a delivery", async () => {
    const { attempt } = await tried(`/redirect?code=307&to=${encodeURIComponent(`${target.url}/elsewhere`)}`);
    expect(attempt).toMatchObject({ status_code: 307, error: { code: "redirect" } });
    expect(target.hits("/elsewhere")).toBe(0);
  });

  it("a port scanner sees only the redacted beginning of a response, or the error code without one", async () => {
    target.on("/chatty", (_, response) => {
      response.end(`password=hunter2-and-more token: abcdef0123456789abcdef ${"x".repeat(5 * MIB)}`);
    });
    const { attempt } = await tried("/chatty?api_key=of-mine");
    expect(attempt.response_body.length).toBeLessThanOrEqual(1024);
    expect(JSON.stringify(attempt)).not.toMatch(/hunter2|abcdef0123456789|of-mine/);
    const closed = await startHttpTarget();
    await closed.close();
    const refused = await tried("", { url: closed.url });
    expect(refused.attempt).toMatchObject({
      status_code: null,
      error: { code: "connection_failed" },
      response_body: null,
    });
  });

  it("an endless response or no response delays no other delivery", async () => {
    await Promise.all([tried("/stream"), tried("/text?body=ok")]);
  });

  it("forged and replayed deliveries fail verification", async () => {
    const { secret } = await tried("/signed");
    const request = target.requests.find((each) => each.path === "/signed");
    if (!request) throw new Error("nothing has arrived");
    const { secret: other } = await tried("/other");
    const changed = (more: Partial<typeof request>) => verifies({ ...request, ...more }, secret);
    const stale = String(Number(request.headers["webhook-timestamp"]) - 3600);
    expect([
      verifies(request, secret),
      verifies(request, other),
      changed({ body: request.body.replace("test", "best") }),
      changed({ headers: { ...request.headers, "webhook-id": "evt_other" } }),
      changed({ headers: { ...request.headers, "webhook-timestamp": stale } }),
    ]).toEqual([true, false, false, false, false]);
  });

  it("a subscription cannot set signing or framing headers", async () => {
    for (const name of ["webhook-signature", "Webhook-Id", "content-length", "Transfer-Encoding", "HOST"]) {
      const body = { url: target.url, events: ["*"], headers: { [name]: "1" } };
      const answer = await tenant.secret.post("/v2/webhooks/subscriptions", body);
      expect(places(answer)).toContainEqual(["body", "headers", name]);
    }
  });
});

describe("deep-json, huge-list, wide-flow", () => {
  const headers = { "content-type": "application/json" };
  const wide = () => {
    const nodes = Array.from(
      { length: 100_000 },
      (_, n) => `{"id":"t-${n}","type":"template","config":{"template":"x"}}`,
    );
    return `{"name":"w","flow":{"schema_version":1,"name":"w","nodes":[${nodes.join(",")}],"edges":[]}}`;
  };
  it.each([
    [
      "deep-json in a run's inputs",
      "/v2/runs",
      () => `{"project_id":"${documents}","inputs":{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}}`,
    ],
    [
      "huge-list in a run's inputs",
      "/v2/runs",
      () => `{"project_id":"${documents}","inputs":{"a":[${"0,".repeat(2_000_000)}0]}}`,
    ],
    [
      "a million keys",
      "/v2/runs",
      () =>
        `{"project_id":"${documents}","inputs":{${Array.from({ length: 1_000_001 }, (_, n) => `"k${n}":0`).join(",")}}}`,
    ],
    ["wide-flow", "/v2/projects", wide],
  ])("%s is rejected in time, and other requests are served meanwhile", async (_, path, body) => {
    const text = body();
    const startedAt = performance.now();
    const refused = tenant.secret.post(path, text, { headers });
    const other = await tenant.secret.get("/v2/limits");
    expect(other.status).toBe(200);
    expect([413, 422]).toContain((await refused).status);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });
});

describe("huge-list", () => {
  it("unknown inputs are ignored, however many", async () => {
    const flowId = await tenant.deploy(echo());
    const many = Array.from({ length: 240_000 }, (_, n) => `"k${n}":"\\u0041"`).join(",");
    const address = `/inference/v0/run/${tenant.org_id}/${flowId}`;
    const headers = { "content-type": "application/json" };
    const { status, body } = await tenant.public.post(address, `{${many},"in-0":"Ada"}`, { headers });
    expect([status, body.outputs]).toEqual([200, { "out-0": "Ada" }]);
    expect(body.metadata.ignored_inputs).toHaveLength(100);
  });
});

describe("trusted-header, host-header", () => {
  const hostile = {
    host: "evil.example",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "https",
    forwarded: "host=evil.example",
    "x-org-id": "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d",
    "x-internal": "true",
    "flowise-internal": "1",
    "x-request-from": "internal",
  };

  it("no header authenticates a request or changes its caller", async () => {
    const anonymous = await rawRequest(service, { method: "GET", path: "/v2/projects", headers: hostile });
    expect(anonymous.status).toBe(401);
    const headers = { ...hostile, authorization: `Bearer ${tenant.publicKey}` };
    expect((await rawRequest(service, { method: "GET", path: "/v2/runs", headers })).status).toBe(403);
  });

  it("no URL in a response comes from them", async () => {
    const project = await tenant.deploy(echo());
    const headers = { ...hostile, authorization: `Bearer ${tenant.secretKey}`, "content-type": "application/json" };
    const body = [JSON.stringify({ "in-0": "x" })];
    const path = `/inference/v0/run/${tenant.org_id}/${project}`;
    const later = await rawRequest(service, {
      method: "POST",
      path,
      headers: { ...headers, prefer: "respond-async" },
      body,
    });
    expect(later.status).toBe(202);
    expect(JSON.stringify(later)).not.toContain("evil.example");
    const created = { name: "a", flow: asking() };
    const made = await rawRequest(service, {
      method: "POST",
      path: "/v2/projects",
      headers,
      body: [JSON.stringify(created)],
    });
    expect([made.status, JSON.stringify(made).includes("evil.example")]).toEqual([201, false]);
  });
});

describe("redos-in-path, crlf", () => {
  it("hostile paths and headers get an immediate response without injected headers", async () => {
    const authorization = `Bearer ${tenant.secretKey}`;
    const paths = [
      `/v2/projects/${"%2f".repeat(2000)}`,
      `/v2/runs/${"a/".repeat(3000)}`,
      `/inference/v0/run/${"-".repeat(6000)}/x`,
      "/v2/projects/x%0d%0aX-Injected:%20yes",
      "/docs/%0d%0aX-Injected:%20yes",
    ];
    for (const path of paths) {
      const startedAt = performance.now();
      const answer = await rawRequest(service, { method: "GET", path, headers: { authorization } });
      expect([400, 404, 405, 414, 422]).toContain(answer.status);
      expect(Object.keys(answer.headers)).not.toContain("x-injected");
      expect(performance.now() - startedAt).toBeLessThan(15_000);
    }
    for (const name of ["accept", "prefer", "if-match", "idempotency-key", "content-type", "x-forwarded-for"]) {
      const headers = { authorization, [name]: `${"a,".repeat(3000)}=;` };
      const startedAt = performance.now();
      const answer = await rawRequest(service, { method: "GET", path: "/v2/limits", headers });
      expect([name, answer.status < 500, performance.now() - startedAt < 2000]).toEqual([name, true, true]);
    }
  });
});
