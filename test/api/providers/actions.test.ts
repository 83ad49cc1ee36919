import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Answer, TestClient } from "../../support/client.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { checkedClient } from "../http/conformance.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { places } from "../webhooks/webhooks.ts";

const PATH = "/v2/providers";
const TOKEN = "planted-token-5d21e8";

let mine: ApiTenant;
let viewer: TestClient;
let upstream: HttpTarget;
beforeAll(async () => {
  upstream = await startHttpTarget();
  mine = await openTenant();
  viewer = await mine.user("viewer");
});
afterAll(() => upstream?.close());
afterEach(() => upstream.reset());

async function connect(members: Record<string, unknown>): Promise<string> {
  const { status, body } = await mine.secret.post("/v2/connections", { name: "c", ...members });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.connection_id;
}

const run = (action: string, body: Record<string, unknown>, headers = {}): Promise<Answer> =>
  mine.secret.post(`${PATH}/${action.replace("/", "/actions/")}/run`, body, { headers });

async function outcome(action: string, body: Record<string, unknown>): Promise<Answer["body"]> {
  const answer = await run(action, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

describe("providers", () => {
  it("are listed and read with what their connections need", async () => {
    const { body } = await viewer.get(PATH);
    const ids = body.data.map((each: { provider_id: string }) => each.provider_id);
    expect(ids).toEqual(
      expect.arrayContaining([
        "http",
        "postgres",
        "s3",
        "slack",
        "github",
        "smtp",
        "openai_compatible",
        "anthropic",
        "millrace",
      ]),
    );
    expect(ids).toEqual(ids.toSorted());
    const { body: github } = await viewer.get(`${PATH}/github`);
    expect(github).toEqual(body.data[ids.indexOf("github")]);
    expect(github.auth).toMatchObject({
      required: true,
      schemes: ["bearer"],
      fields: { properties: { token: { writeOnly: true } }, required: ["token"] },
    });
  });

  it("are paged by ID, in both directions", async () => {
    const { body: first } = await viewer.get(PATH, { query: { page_size: 2 } });
    const { body: second } = await viewer.get(PATH, { query: { page_size: 2, cursor: first.cursor } });
    const { body: back } = await viewer.get(PATH, {
      query: { page_size: 2, cursor: second.cursor, direction: "prev" },
    });
    expect(back.data).toEqual(first.data);
    expect(second.data[0].provider_id > first.data[1].provider_id).toBe(true);
  });

  it("have actions that can be searched by words", async () => {
    const { body: all } = await viewer.get(`${PATH}/github/actions`);
    expect(all.data.every((each: { provider_id: string }) => each.provider_id === "github")).toBe(true);
    const { body: found } = await viewer.get(`${PATH}/github/actions`, { query: { query: "create issue" } });
    expect(found.data[0].action_id).toBe("create_issue");
    const { body: one } = await viewer.get(`${PATH}/github/actions/create_issue`);
    expect(one).toEqual(found.data[0]);
    expect(one.annotations).toEqual({ read_only: false, destructive: false, idempotent: false });
  });

  it("list their triggers", async () => {
    const { body } = await viewer.get(`${PATH}/http/triggers`);
    expect(body.data.map((each: { trigger_id: string }) => each.trigger_id)).toEqual(["http.changed"]);
    expect((await viewer.get(`${PATH}/http/triggers/http.changed`)).body).toEqual(body.data[0]);
  });

  it.each(["/nobody", "/nobody/actions", "/http/actions/none", "/http/triggers/none", "/nobody/triggers"])(
    "return 404 for %s",
    async (path) => expect((await viewer.get(PATH + path)).status).toBe(404),
  );

  it("require a credential and a role", async () => {
    expect((await checkedClient(mine.target).get(PATH)).status).toBe(401);
    expect((await mine.public.get(PATH)).status).toBe(403);
    expect((await viewer.post(`${PATH}/http/actions/get/run`, { inputs: { url: upstream.url } })).status).toBe(403);
  });
});

describe("running an action", () => {
  it("returns its outcome, immediately and later", async () => {
    const body = await outcome("http/request", {
      inputs: {
        method: "PUT",
        url: `${upstream.url}/echo`,
        query: { a: 1 },
        headers: { "X-Own": "y" },
        body: { b: [2] },
      },
    });
    expect(body).toMatchObject({
      state: "COMPLETED",
      successful: true,
      error: null,
      outputs: { status: 200, body: { method: "PUT", url: "/echo?a=1", body: '{"b":[2]}' } },
      rendered_request: { method: "PUT", url: `${upstream.url}/echo?a=1`, body: { b: [2] } },
    });
    expect(upstream.requests[0]?.headers).toMatchObject({ "x-own": "y", "content-type": "application/json" });
    const later = await viewer.get(`/v2/action-runs/${body.action_run_id}`);
    expect([later.status, later.body]).toEqual([200, body]);
  });

  it("reports a failure with 200, and retries only requests that are safe to repeat", async () => {
    const failed = await outcome("http/request", {
      inputs: { method: "POST", url: `${upstream.url}/status?code=503` },
    });
    expect(failed).toMatchObject({
      state: "FAILED",
      successful: false,
      outputs: null,
      error: { code: "http_status", upstream_status: 503, retryable: false },
    });
    expect(upstream.hits("/status")).toBe(1);
    expect(await outcome("http/get", { inputs: { url: `${upstream.url}/status?code=503` } })).toMatchObject({
      error: { upstream_status: 503, retryable: true },
    });
    expect(upstream.hits("/status")).toBe(4);
    expect((await outcome("http/get", { inputs: { url: `${upstream.url}/flaky?times=2` } })).successful).toBe(true);
  });

  it("fails with outcome_unknown if a call that must not be repeated was interrupted", async () => {
    for (const url of [`${upstream.url}/reset`, `${upstream.url}/hang`]) {
      const body = await outcome("http/request", { inputs: { method: "POST", url }, timeout_seconds: 1 });
      expect(body.error).toMatchObject({ code: "outcome_unknown", retryable: false });
      expect(upstream.hits(new URL(url).pathname)).toBe(1);
    }
    const read = await outcome("http/get", { inputs: { url: `${upstream.url}/hang` }, timeout_seconds: 1 });
    expect(read.error.code).toBe("action_timeout");
    const unreached = await outcome("http/request", { inputs: { method: "POST", url: "http://127.0.0.1:1/" } });
    expect(unreached.error.code).toBe("http_failed");
  });

  it("happens once per Idempotency-Key", async () => {
    const body = { inputs: { method: "POST", url: `${upstream.url}/once` } };
    const first = await run("http/request", body, { "idempotency-key": "action-once" });
    const again = await run("http/request", body, { "idempotency-key": "action-once" });
    expect([again.status, again.body, again.headers.get("idempotent-replayed")]).toEqual([200, first.body, "true"]);
    expect(upstream.hits("/once")).toBe(1);
  });

  it("returns 202 if it takes longer than the wait, and continues", async () => {
    const release = upstream.hold("/slow");
    const accepted = await run("http/get", { inputs: { url: `${upstream.url}/slow` } }, { prefer: "wait=1" });
    expect([accepted.status, accepted.body.state, accepted.body.successful]).toEqual([202, "PENDING", null]);
    release();
    const path = accepted.headers.get("location") ?? "";
    const { body } = await viewer.get(path, { query: { wait_seconds: 60 } });
    expect([body.state, body.action_run_id]).toEqual(["COMPLETED", accepted.body.action_run_id]);
    const other = await openTenant();
    expect((await other.secret.get(path)).status).toBe(404);
  });

  it("calls no one in a dry run, and shows no secret in it (secret-by-dry-run)", async () => {
    const credential = { base_url: `${upstream.url}/api`, api_key: TOKEN, in: "query", name: "key" };
    const connection_id = await connect({ provider_id: "http", scheme: "api_key", credential });
    const inputs = { method: "POST", url: "/orders", headers: { "x-copy": `a ${TOKEN}` }, body: { copy: btoa(TOKEN) } };
    const body = await outcome("http/request", { inputs, connection_id, dry_run: true });
    expect(body).toMatchObject({ successful: true, outputs: null, rendered_request: { method: "POST" } });
    expect(body.rendered_request.url).toMatch(`${upstream.url}/api/orders?key=`);
    expect(JSON.stringify(body)).not.toContain(TOKEN);
    expect(JSON.stringify(body)).not.toContain(btoa(TOKEN).slice(0, 16));
    expect(upstream.requests).toEqual([]);
  });

  it("masks a credential that the service sends back (secret-in-error)", async () => {
    const credential = { base_url: upstream.url, token: TOKEN };
    const connection_id = await connect({ provider_id: "http", scheme: "bearer", credential });
    upstream.on("/leak", (request, response) => {
      response.writeHead(500, { "content-type": "text/plain" }).end(`no: ${request.headers["authorization"]}`);
    });
    const failed = await outcome("http/request", { inputs: { method: "POST", url: "/leak" }, connection_id });
    expect(upstream.requests[0]?.headers["authorization"]).toBe(`Bearer ${TOKEN}`);
    expect(failed.error.message).toContain("[redacted]");
    const echoed = await outcome("http/get", { inputs: { url: "/echo" }, connection_id });
    expect(echoed.outputs.body.headers.authorization).toBe("Bearer [redacted]");
    expect(JSON.stringify([failed, echoed])).not.toContain(TOKEN);
  });

  it("sends a credential only to the connection's base URL, and rejects paths outside it", async () => {
    const credential = { base_url: `${upstream.url}/api/`, token: TOKEN };
    const connection_id = await connect({ provider_id: "http", scheme: "bearer", credential });
    const elsewhere = upstream.url.replace("127.0.0.1", "localhost");
    for (const url of [`${elsewhere}/api/x`, `${upstream.url}/apis`, "../x", "/%2e%2e/x", "//localhost/api"]) {
      const { error } = await outcome("http/get", { inputs: { url }, connection_id });
      expect(error.code, url).toBe("invalid_action_inputs");
    }
    expect(upstream.requests).toEqual([]);
  });

  it("requests a new token when the service returns 401 (oauth2)", async () => {
    let issued = 0;
    upstream.on("/token", (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ access_token: `${TOKEN}-${++issued}`, expires_in: 3600 }));
    });
    upstream.on("/api/x", (request, response) => {
      const isFresh = request.headers["authorization"] === `Bearer ${TOKEN}-${issued}` && issued > 1;
      response.writeHead(isFresh ? 200 : 401, { "content-type": "application/json" }).end('{"ok":true}');
    });
    const credential = {
      base_url: `${upstream.url}/api`,
      token_url: `${upstream.url}/token`,
      client_id: "c",
      client_secret: TOKEN,
    };
    const connection_id = await connect({ provider_id: "http", scheme: "oauth2_client_credentials", credential });
    for (let n = 0; n < 2; n++)
      expect(
        (await outcome("http/request", { inputs: { method: "POST", url: "x" }, connection_id })).outputs.status,
      ).toBe(200);
    // One more each if the worker, which caches its own tokens, makes one of the two calls.
    expect([issued, upstream.hits("/api/x")].every((n) => n === 2 || n === 3)).toBe(true);
  });

  it("uses no expired token, and none of a replaced credential (oauth2)", async () => {
    let life = 0.001;
    upstream.on("/token", (request, response) => {
      const [, pair = ""] = (request.headers["authorization"] ?? "").split(" ");
      const token = `${atob(pair).replace(":", "-")}-${upstream.hits("/token")}`;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ access_token: token, expires_in: life }));
    });
    const credential = {
      base_url: upstream.url,
      token_url: `${upstream.url}/token`,
      client_id: "c",
      client_secret: "one",
    };
    const connection_id = await connect({ provider_id: "http", scheme: "oauth2_client_credentials", credential });
    const tokens = async (calls: number): Promise<string[]> => {
      const before = upstream.requests.length;
      for (let n = 0; n < calls; n++) await outcome("http/get", { inputs: { url: "/echo" }, connection_id });
      const sent = upstream.requests.slice(before).filter(({ url }) => url === "/echo");
      return sent.map(({ headers }) => headers["authorization"] ?? "");
    };
    const issued = upstream.hits("/token");
    expect(await tokens(2)).toEqual([`Bearer c-one-${issued + 1}`, `Bearer c-one-${issued + 2}`]);
    life = 3600;
    // The API and the worker both execute actions, and each caches its own tokens.
    const kept = await tokens(5);
    const fresh = [issued + 3, issued + 4].map((n) => `Bearer c-one-${n}`);
    expect([kept.length, kept.filter((token) => !fresh.includes(token))]).toEqual([5, []]);
    const replaced = { ...credential, client_secret: "two" };
    await mine.secret.patch(`/v2/connections/${connection_id}`, { credential: replaced });
    const last = upstream.hits("/token");
    const keptThen = await tokens(5);
    const freshThen = [last, last + 1].map((n) => `Bearer c-two-${n}`);
    expect([keptThen.length, keptThen.filter((token) => !freshThen.includes(token))]).toEqual([5, []]);
  });

  it("keeps the status of its connection up to date", async () => {
    const credential = { base_url: upstream.url, token: TOKEN };
    const connection_id = await connect({ provider_id: "http", scheme: "bearer", credential });
    const status = async (): Promise<string> => (await viewer.get(`/v2/connections/${connection_id}`)).body.status;
    await outcome("http/get", { inputs: { url: "/echo" }, connection_id });
    expect(await status()).toBe("active");
    const { error } = await outcome("http/get", { inputs: { url: "/status?code=401" }, connection_id });
    expect([error.upstream_status, await status()]).toEqual([401, "error"]);
    await mine.secret.patch(`/v2/connections/${connection_id}`, { disabled: true });
    expect((await outcome("http/get", { inputs: { url: "/echo" }, connection_id })).error.code).toBe(
      "connection_disabled",
    );
  });

  it.each([
    [{ inputs: {} }, [["body", "inputs", "url"]]],
    [{ inputs: { url: 3 } }, [["body", "inputs", "url"]]],
    [{ inputs: { url: "x", headers: { "a b": "c" } } }, [["body", "inputs", "headers"]]],
    [{ inputs: { url: "x" }, timeout_seconds: 0 }, [["body", "timeout_seconds"]]],
    [{ inputs: { url: "x" }, more: 1 }, [["body", "more"]]],
  ])("rejects %j", async (body, expected) => {
    const found = places(await run("http/get", body)).map((place) => JSON.stringify(place));
    expect(found).toEqual(expect.arrayContaining(expected.map((place) => JSON.stringify(place))));
  });

  it("rejects a connection of another provider, a missing one and an unknown one", async () => {
    const connection_id = await connect({
      provider_id: "http",
      scheme: "bearer",
      credential: { base_url: upstream.url, token: TOKEN },
    });
    const issue = { inputs: { owner: "a", repo: "b", number: 1 } };
    expect(places(await run("github/get_issue", { ...issue, connection_id }))).toEqual([["body", "connection_id"]]);
    expect(places(await run("github/get_issue", issue))).toEqual([["body", "connection_id"]]);
    const unknown = { ...issue, connection_id: "0197f0a0-0000-7000-8000-000000000000" };
    expect((await run("github/get_issue", unknown)).status).toBe(404);
    for (const action of ["nobody/get", "http/none"]) expect((await run(action, { inputs: {} })).status).toBe(404);
  });
});

describe("built-in providers", () => {
  it("github: opens an issue and reads a file", async () => {
    upstream.on("/repos/acme/shop/issues", (request, response) => {
      response.writeHead(201, { "content-type": "application/json" });
      response.end(JSON.stringify({ number: 7, ...JSON.parse(request.body) }));
    });
    upstream.on("/repos/acme/shop/contents/src/a%20b.ts", (_, response) => {
      response.writeHead(200, { "content-type": "application/vnd.github.raw+json; charset=utf-8" }).end("export {}");
    });
    const connection_id = await connect({
      provider_id: "github",
      credential: { token: TOKEN, base_url: upstream.url },
    });
    const where = { owner: "acme", repo: "shop" };
    const opened = await outcome("github/create_issue", {
      inputs: { ...where, title: "Slow", labels: ["bug"] },
      connection_id,
    });
    expect(opened.outputs).toEqual({ number: 7, title: "Slow", labels: ["bug"] });
    const file = await outcome("github/get_file", { inputs: { ...where, path: "src/a b.ts" }, connection_id });
    expect(file.outputs).toEqual({ text: "export {}" });
    expect(upstream.requests.at(-1)?.headers).toMatchObject({ authorization: `Bearer ${TOKEN}` });
  });

  it("slack: posts by token and by webhook, and treats a negative reply as a failure", async () => {
    upstream.on("/chat.postMessage", (request, response) => {
      const { channel } = JSON.parse(request.body);
      const answer =
        channel === "#ops" ? { ok: true, channel: "C1", ts: "1.2" } : { ok: false, error: "channel_not_found" };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    upstream.on("/hooks/T1", (_, response) => void response.writeHead(200).end("ok"));
    const token = await connect({
      provider_id: "slack",
      scheme: "bearer",
      credential: { token: TOKEN, base_url: upstream.url },
    });
    const post = (channel: string): Promise<Answer["body"]> =>
      outcome("slack/post_message", { inputs: { channel, text: "hi" }, connection_id: token });
    expect((await post("#ops")).outputs).toEqual({ channel: "C1", ts: "1.2" });
    expect((await post("#none")).error).toMatchObject({
      code: "action_refused",
      message: "Slack returned the error channel_not_found",
    });
    const webhook_url = `${upstream.url}/hooks/T1`;
    const hook = await connect({ provider_id: "slack", scheme: "api_key", credential: { webhook_url } });
    const sent = await outcome("slack/send_to_webhook", { inputs: { text: "hi" }, connection_id: hook });
    expect(sent).toMatchObject({ outputs: { ok: true } });
    expect(JSON.stringify(sent)).not.toContain("/hooks/T1");
  });

  it("models: chat and messages", async () => {
    upstream.on("/v1/chat/completions", (request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ choices: [{ message: { content: request.headers["authorization"] } }] }));
    });
    upstream.on("/v1/messages", (request, response) => {
      const { "x-api-key": key, "anthropic-version": version } = request.headers;
      response.writeHead(key === TOKEN && version ? 200 : 401, { "content-type": "application/json" });
      response.end(JSON.stringify({ content: [{ type: "text", text: "hi" }] }));
    });
    const messages = [{ role: "user", content: "hi" }];
    const openai = { provider_id: "openai_compatible", scheme: "api_key" };
    const chat = await outcome("openai_compatible/chat", {
      inputs: { model: "m", messages },
      connection_id: await connect({ ...openai, credential: { base_url: `${upstream.url}/v1`, api_key: TOKEN } }),
    });
    expect(chat.outputs.choices[0].message.content).toBe("Bearer [redacted]");
    const message = await outcome("anthropic/create_message", {
      inputs: { model: "m", max_tokens: 10, messages },
      connection_id: await connect({
        provider_id: "anthropic",
        credential: { base_url: upstream.url, api_key: TOKEN },
      }),
    });
    expect(message.outputs.content[0].text).toBe("hi");
  });

  it("millrace: starts a run, reads it, and queries a knowledge base of this installation", async () => {
    const project_id = await mine.deploy(echo());
    const started = await outcome("millrace/start_run", { inputs: { project_id, inputs: { "in-0": "hello" } } });
    await mine.until(started.outputs.run_id, "COMPLETED");
    const read = await outcome("millrace/get_run", { inputs: { run_id: started.outputs.run_id } });
    expect(read.outputs).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "hello" }, error: null });
    const missing = await outcome("millrace/start_run", { inputs: { project_id, inputs: {} } });
    expect(missing.error.code).toBe("invalid_action_inputs");
    const { body: base } = await mine.secret.post("/v2/knowledge-bases", { name: "Handbook" });
    const inputs = { knowledge_base_id: base.knowledge_base_id, query: "anything" };
    expect((await outcome("millrace/query_knowledge_base", { inputs })).outputs).toEqual({ results: [], text: "" });
    const stranger = await openTenant();
    const theirs = await stranger.secret.post(`${PATH}/millrace/actions/get_run/run`, {
      inputs: { run_id: started.outputs.run_id },
    });
    expect(theirs.body).toMatchObject({ successful: false, error: { code: "invalid_action_inputs" } });
  });
});

describe("s3", () => {
  it("sends no request in a dry run, whatever the action", async () => {
    const credential = { access_key_id: "id", secret_access_key: TOKEN, endpoint: upstream.url };
    const connection_id = await connect({ provider_id: "s3", credential });
    const before = upstream.requests.length;
    const inputs = { bucket: "blobs", key: "a.txt" };
    for (const [action, given] of [
      ["s3/list_objects", { bucket: "blobs", prefix: "a" }],
      ["s3/get_object", inputs],
      ["s3/put_object", { ...inputs, body: "x" }],
    ] as const) {
      const body = await outcome(action, { inputs: given, connection_id, dry_run: true });
      expect(body, action).toMatchObject({ successful: true, outputs: null, rendered_request: given });
      expect(JSON.stringify(body)).not.toContain(TOKEN);
    }
    expect(upstream.requests.length).toBe(before);
  });
});
