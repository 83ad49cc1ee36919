import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Answer } from "../../support/client.ts";
import { edges, flow, node } from "../../support/flows.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";
import { places } from "../webhooks/webhooks.ts";

const PATH = "/v2/providers";
const TOKEN = "planted-token-90c1fe";

let mine: ApiTenant;
let upstream: HttpTarget;
beforeAll(async () => {
  upstream = await startHttpTarget();
  mine = await openTenant();
});
afterAll(() => upstream?.close());
afterEach(() => upstream.reset());

const operation = (operationId: string, more: JsonObject = {}): JsonObject => ({
  operationId,
  summary: `About ${operationId}`,
  responses: { 200: { description: "ok" } },
  ...more,
});

function shop(paths: JsonObject = {}): JsonObject {
  const id = { name: "id", in: "path", required: true, schema: { type: "integer" } };
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Order" } } };
  return {
    openapi: "3.0.3",
    info: { title: "Test Shop", version: "1.2" },
    servers: [{ url: upstream.url }],
    security: [{ token: [] }],
    paths: {
      "/orders/{id}": { get: operation("getOrder", { parameters: [id] }) },
      "/orders": { post: operation("placeOrder", { requestBody: { required: true, content } }) },
      ...paths,
    },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Order: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] } },
    },
  };
}

async function imported(members: JsonObject): Promise<Answer> {
  const answer = await mine.secret.post(PATH, members);
  expect([200, 201], JSON.stringify(answer.body)).toContain(answer.status);
  return answer;
}

describe("silent-digits: an integer beyond 2^53", () => {
  const LONG = "9007199254740993";
  const options = { headers: { "content-type": "application/json" } };

  /** A document as FastAPI writes it: int64 parameters, and a body with a nullable field. */
  async function orders(): Promise<string> {
    const id = { type: "integer", format: "int64", maximum: "MAX" };
    const count = { anyOf: [{ type: "integer" }, { type: "null" }] };
    const schema = { type: "object", properties: { id, count, notes: { type: "object", additionalProperties: id } } };
    const parameters = [
      { name: "id", in: "path", required: true, schema: id },
      { name: "after", in: "query", schema: count },
    ];
    const requestBody = {
      content: { "application/json": { schema: { allOf: [{ $ref: "#/components/schemas/Order" }] } } },
    };
    const document = {
      openapi: "3.1.0",
      info: { title: "Long orders", version: "1" },
      servers: [{ url: upstream.url }],
      paths: { "/orders/{id}": { put: operation("putOrder", { parameters, requestBody }) } },
      components: { schemas: { Order: schema } },
    };
    const text = JSON.stringify({ openapi: document }).replaceAll('"MAX"', "9223372036854775807");
    const { status, body } = await mine.secret.post(PATH, text, options);
    expect([200, 201], JSON.stringify(body)).toContain(status);
    return body.provider_id;
  }
  const sent = (): unknown => upstream.requests.map(({ url, body }) => [url, body]);

  it("is sent by a run of an action as a parameter and in the body, digit by digit", async () => {
    const provider = await orders();
    const inputs = `{"id":${LONG},"after":-${LONG},"body":{"id":${LONG},"count":null,"notes":{"a":9223372036854775807}}}`;
    const run = await mine.secret.post(`${PATH}/${provider}/actions/putOrder/run`, `{"inputs":${inputs}}`, options);
    expect(run.body).toMatchObject({ successful: true });
    expect(sent()).toEqual([
      [`/orders/${LONG}?after=-${LONG}`, `{"id":${LONG},"count":null,"notes":{"a":9223372036854775807}}`],
    ]);
    const wrong = await mine.secret.post(
      `${PATH}/${provider}/actions/putOrder/run`,
      `{"inputs":{"id":1e400}}`,
      options,
    );
    expect([wrong.status, places(wrong)]).toEqual([422, [["body", "inputs", "id"]]]);
  });

  it("is sent by a node whose templates fill nullable inputs, maps and whole bodies", async () => {
    const provider_id = await orders();
    const act = async (inputs: JsonObject): Promise<string> => {
      const project_id = await mine.deploy(
        flow({
          nodes: [
            node("in-0", "input"),
            node("act-0", "action", { provider_id, action_id: "putOrder", inputs }),
            node("out-0", "output"),
          ],
          edges: edges("in-0 > act-0 > out-0"),
        }),
      );
      const { body } = await mine.secret.post("/v2/runs", { project_id, inputs: { "in-0": LONG } });
      return (await mine.until(body.run_id, "COMPLETED")).state;
    };
    await act({
      id: "{{in-0}}",
      after: "{{in-0}}",
      body: { id: "{{in-0}}", count: "{{ 'null' }}", notes: { a: "{{in-0 | plus: 1}}" } },
    });
    await act({ id: "{{in-0}}", body: '{"id":{{in-0}},"count":{{in-0}}}' });
    expect(sent()).toEqual([
      [`/orders/${LONG}?after=${LONG}`, `{"id":${LONG},"count":null,"notes":{"a":9007199254740994}}`],
      [`/orders/${LONG}`, `{"id":${LONG},"count":${LONG}}`],
    ]);
  });
});

describe("importing an OpenAPI document", () => {
  it("ranks operations by the words of a query", async () => {
    const paths = Object.fromEntries(
      ["listAllGoodsOfOrders", "listGoods", "goodsToList"].map((id) => [`/${id}`, { get: operation(id) }]),
    );
    await imported({ openapi: { ...shop(paths), info: { title: "Words", version: "1" } } });
    const { body } = await mine.secret.get(`${PATH}/words/actions`, { query: { query: "list goods" } });
    expect(body.data.map((each: { action_id: string }) => each.action_id)).toEqual([
      "listGoods",
      "goodsToList",
      "listAllGoodsOfOrders",
    ]);
  });

  it("turns its operations into actions, which run through a connection", async () => {
    const { status, body, headers } = await imported({ openapi: shop() });
    expect([status, headers.get("location")]).toEqual([201, `${PATH}/test-shop`]);
    expect(body).toMatchObject({
      provider_id: "test-shop",
      provider_version: "1.2",
      source: "openapi",
      auth: { required: true, schemes: ["bearer"] },
      import: { operations: 2, added: ["getOrder", "placeOrder"], changed: [], removed: [] },
    });
    const { import: _, ...provider } = body;
    expect((await mine.secret.get(`${PATH}/test-shop`)).body).toEqual(provider);
    const { body: listed } = await mine.secret.get(PATH);
    expect(listed.data).toContainEqual(provider);
    const { body: first } = await mine.secret.get(`${PATH}/test-shop/actions`, { query: { page_size: 1 } });
    const next = { query: { page_size: 1, cursor: first.cursor } };
    const { body: second } = await mine.secret.get(`${PATH}/test-shop/actions`, next);
    expect([first.data[0].action_id, second.data[0].action_id, second.cursor]).toEqual([
      "getOrder",
      "placeOrder",
      null,
    ]);
    const { body: found } = await mine.secret.get(`${PATH}/test-shop/actions`, { query: { query: "place" } });
    expect(found.data).toEqual([second.data[0]]);
    expect((await mine.secret.get(`${PATH}/test-shop/actions/placeOrder`)).body).toEqual(second.data[0]);

    const made = await mine.secret.post("/v2/connections", {
      name: "Shop",
      provider_id: "test-shop",
      credential: { token: TOKEN },
    });
    const { connection_id } = made.body;
    const run = `${PATH}/test-shop/actions/placeOrder/run`;
    const placed = await mine.secret.post(run, { inputs: { body: { count: 2 } }, connection_id });
    expect(placed.body).toMatchObject({
      successful: true,
      outputs: { method: "POST", url: "/orders", body: '{"count":2}' },
    });
    expect(upstream.requests[0]?.headers["authorization"]).toBe(`Bearer ${TOKEN}`);
    expect(JSON.stringify(placed.body)).not.toContain(TOKEN);
    const wrong = await mine.secret.post(run, { inputs: { body: { count: "two" } }, connection_id });
    expect(places(wrong)).toEqual([["body", "inputs", "body", "count"]]);
    const used = await mine.secret.delete(`${PATH}/test-shop`);
    expect([used.status, used.body.code]).toEqual([409, "in_use"]);
    await mine.secret.delete(`/v2/connections/${connection_id}`);
    expect((await mine.secret.delete(`${PATH}/test-shop`)).status).toBe(204);
    expect((await mine.secret.get(`${PATH}/test-shop/actions/getOrder`)).status).toBe(404);
  });

  it("shows what changed when it is repeated with the same ID", async () => {
    await imported({ openapi: shop(), provider_id: "again" });
    const { post } = (shop()["paths"] as Record<string, JsonObject>)["/orders"] ?? {};
    const changed = shop({
      "/orders": { post: { ...(post as JsonObject), summary: "Another" } },
      "/carts": { get: operation("listCarts") },
    });
    delete (changed["paths"] as Record<string, unknown>)["/orders/{id}"];
    const { status, body } = await imported({ openapi: changed, provider_id: "again", name: "Again" });
    expect([status, body.name]).toEqual([200, "Again"]);
    expect(body.import).toEqual({
      operations: 2,
      added: ["listCarts"],
      changed: ["placeOrder"],
      removed: ["getOrder"],
    });
    const same = await imported({ openapi: changed, provider_id: "again" });
    expect(same.body.import).toEqual({ operations: 2, added: [], changed: [], removed: [] });
  });

  it("never replaces another provider only because the titles match", async () => {
    const titled = (paths: JsonObject): JsonObject => ({
      ...shop(paths),
      info: { title: "FastAPI", version: "0.1.0" },
    });
    const first = await imported({ openapi: titled({}) });
    const other = titled({ "/carts": { get: operation("listCarts") } });
    const refused = await mine.secret.post(PATH, { openapi: other });
    expect([refused.status, refused.body.code, refused.body.provider_id]).toEqual([409, "conflict", "fastapi"]);
    expect(refused.body.detail).toContain("send another provider_id");
    expect((await mine.secret.get(`${PATH}/fastapi`)).body).toMatchObject({ provider_id: first.body.provider_id });
    expect((await mine.secret.get(`${PATH}/fastapi/actions/listCarts`)).status).toBe(404);
    // Importing an identical document changes nothing and is not a conflict.
    expect((await mine.secret.post(PATH, { openapi: titled({}) })).status).toBe(200);
    expect((await imported({ openapi: other, provider_id: "fastapi-2" })).status).toBe(201);
    // A document from the same URL counts as the same document.
    upstream.on("/fastapi.json", (_, response) => void response.end(JSON.stringify(other)));
    const byAddress = { openapi: `${upstream.url}/fastapi.json`, name: "By address" };
    expect([(await imported(byAddress)).status, (await imported(byAddress)).status]).toEqual([201, 200]);
  });

  it("previews its changes, and keeps actions that a published flow uses unless forced", async () => {
    await imported({ openapi: shop(), provider_id: "kept" });
    const inputs = { id: 1 };
    const { body: own } = await mine.secret.post("/v2/connections", {
      name: "c",
      provider_id: "kept",
      credential: { token: TOKEN },
    });
    const { connection_id } = own;
    const project_id = await mine.deploy(
      flow({
        nodes: [
          node("in-0", "input"),
          node("act-0", "action", { provider_id: "kept", action_id: "getOrder", connection_id, inputs }),
          node("out-0", "output"),
        ],
        edges: edges("in-0 > act-0", "act-0 > out-0"),
      }),
    );
    const without = shop({ "/carts": { get: operation("listCarts") } });
    delete (without["paths"] as Record<string, unknown>)["/orders/{id}"];
    const wanted = { openapi: without, provider_id: "kept" };
    const preview = await mine.secret.post(PATH, { ...wanted, dry_run: true });
    expect([preview.status, preview.body]).toEqual([
      200,
      {
        added: ["listCarts"],
        changed: [],
        removed: ["getOrder"],
        used_by: [{ project_id, name: "test", action_ids: ["getOrder"] }],
        differences: [],
      },
    ]);
    const refused = await mine.secret.post(PATH, wanted);
    expect([refused.status, refused.body.code, refused.body.used_by]).toEqual([409, "in_use", preview.body.used_by]);
    expect((await mine.secret.get(`${PATH}/kept/actions/listCarts`)).status).toBe(404);
    const changed = shop({ "/orders/{id}": { get: operation("getOrder", { summary: "Another" }) } });
    const { body: other } = await mine.secret.post(PATH, { openapi: changed, provider_id: "kept", dry_run: true });
    expect(other).toMatchObject({
      changed: ["getOrder"],
      used_by: [{ project_id }],
      differences: [
        {
          action_id: "getOrder",
          description: { before: "About getOrder (GET /orders/{id})", after: "Another (GET /orders/{id})" },
        },
      ],
    });
    expect(other.differences[0].members).toContain("description");
    const forced = await mine.secret.post(PATH, { ...wanted, force: true });
    expect([forced.status, forced.body.import.removed]).toEqual([200, ["getOrder"]]);
    expect(
      (await mine.secret.post(PATH, { openapi: shop(), provider_id: "nothing", dry_run: true })).body.added,
    ).toEqual(["getOrder", "placeOrder"]);
    expect((await mine.secret.get(`${PATH}/nothing`)).status).toBe(404);
  });

  it("tool-rug-pull: removes invisible characters from texts for models, and reports them", async () => {
    const hidden = `Lists${String.fromCodePoint(0xe0049, 0xe0067)} \u202Ecarts\u200B`;
    const parameter = { name: "q", in: "query", description: "Words\u2066", schema: { type: "string" } };
    await imported({
      openapi: shop({ "/c": { get: operation("listCarts", { summary: hidden, parameters: [parameter] }) } }),
      provider_id: "hidden-words",
    });
    const { body } = await mine.secret.get(`${PATH}/hidden-words/actions/listCarts`);
    expect(body.description.llm).toBe("Lists carts (GET /c)");
    expect(body.description.human).toContain("U+E0049");
    expect(JSON.stringify(body.input_schema)).toContain('"Words"');
  });

  it("accepts the URL of a document, in JSON or YAML, through the guarded fetch", async () => {
    upstream.on("/openapi.yaml", (_, response) => {
      response.writeHead(200, { "content-type": "text/yaml" });
      response.end(
        "openapi: 3.1.0\ninfo: {title: Y, version: '1'}\nservers: [{url: /api}]\npaths: {/x: {get: {operationId: getX}}}",
      );
    });
    await imported({ openapi: `${upstream.url}/openapi.yaml`, provider_id: "by-address" });
    const ran = await mine.secret.post(`${PATH}/by-address/actions/getX/run`, {});
    expect(ran.body.outputs).toMatchObject({ url: "/api/x" });
    for (const openapi of ["http://169.254.169.254/openapi.json", `${upstream.url}/redirect?to=http://10.0.0.1/`])
      expect(places(await mine.secret.post(PATH, { openapi }))).toEqual([["body", "openapi"]]);
    // The body of an error response is not accepted as a document, even if it looks like one.
    upstream.on("/gone.json", (_, response) => {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify(shop()));
    });
    const gone = await mine.secret.post(PATH, { openapi: `${upstream.url}/gone.json` });
    expect([places(gone), JSON.stringify(gone.body)]).toEqual([
      [["body", "openapi"]],
      expect.stringContaining("returned status 404"),
    ]);
  });

  it("reads Millrace's own document, and rejects invalid ones", async () => {
    const openapi = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")) as JsonObject;
    const { body } = await imported({ openapi, provider_id: "ourselves" });
    expect(body.import.operations).toBeGreaterThan(80);
    const provider = { provider_id: "ourselves", scheme: "bearer" };
    const credential = { base_url: mine.target.url, token: mine.secretKey };
    const { body: made } = await mine.secret.post("/v2/connections", { name: "Ourselves", ...provider, credential });
    const { body: ran } = await mine.secret.post(`${PATH}/ourselves/actions/getLimits/run`, {
      connection_id: made.connection_id,
    });
    expect(ran, JSON.stringify(ran)).toMatchObject({ successful: true });
    expect(places(await mine.secret.post(PATH, { openapi: { openapi: "3.1.0" } }))).toEqual([
      ["body", "openapi", "paths"],
    ]);
    expect(places(await mine.secret.post(PATH, { openapi: shop(), provider_id: "http" }))).toEqual([
      ["body", "provider_id"],
    ]);
    expect(places(await mine.secret.post(PATH, { openapi: shop(), provider_id: "A b" }))).toEqual([
      ["body", "provider_id"],
    ]);
  });

  it("creates a provider that other organisations cannot see, and is forbidden for viewers", async () => {
    await imported({ openapi: shop(), provider_id: "hidden" });
    const other = await openTenant();
    for (const path of ["", "/actions", "/actions/getOrder"])
      expect((await other.secret.get(`${PATH}/hidden${path}`)).status).toBe(404);
    const viewer = await mine.user("viewer");
    expect((await viewer.post(PATH, { openapi: shop() })).status).toBe(403);
    expect((await viewer.delete(`${PATH}/hidden`)).status).toBe(403);
    expect((await mine.secret.delete(`${PATH}/http`)).body.code).toBe("conflict");
  });
});

describe("the action node", () => {
  const graph = (config: Record<string, unknown>) =>
    flow({
      nodes: [
        node("in-0", "input"),
        node("act-0", "action", config),
        node("out-0", "output", { value: "{{act-0.body}}" }),
      ],
      edges: edges("in-0 > act-0", "act-0 > out-0"),
    });

  it("runs an action with inputs from the run, and parses text for fields that are not text", async () => {
    await imported({ openapi: shop(), provider_id: "in-flow" });
    const made = await mine.secret.post("/v2/connections", {
      name: "c",
      provider_id: "in-flow",
      credential: { token: TOKEN },
    });
    const { connection_id } = made.body;
    const config = {
      provider_id: "in-flow",
      action_id: "placeOrder",
      connection_id,
      inputs: { body: { count: "{{in-0}}" } },
    };
    const project_id = await mine.deploy(graph(config));
    const run = (value: string): Promise<Answer> =>
      mine.secret.post("/v2/runs", { project_id, inputs: { "in-0": value }, mode: "sync" });
    const good = await run("3");
    expect(good.body).toMatchObject({ state: "COMPLETED", outputs: { "out-0": '{"count":3}' } });
    const bad = await run("many");
    expect(bad.body).toMatchObject({ state: "FAILED", error: { code: "invalid_action_inputs", node_id: "act-0" } });
    const { body: shown } = await mine.secret.get(`/v2/runs/${good.body.run_id}`, { query: { expand: "nodes" } });
    expect(JSON.stringify(shown)).not.toContain(TOKEN);
    // A connection or provider that a published flow uses cannot be deleted.
    for (const path of [`/v2/connections/${connection_id}`, `${PATH}/in-flow`]) {
      const { status, body } = await mine.secret.delete(path);
      expect([status, body.code, body.used_by?.[0]?.project_id]).toEqual([409, "in_use", project_id]);
    }
  });

  it("is rejected without a required connection, and with unknown or missing inputs", async () => {
    await imported({ openapi: shop(), provider_id: "checked" });
    const problems = async (config: Record<string, unknown>): Promise<unknown> => {
      const flow_ = graph({ provider_id: "checked", action_id: "getOrder", ...config });
      const { body } = await mine.secret.post("/v2/flows/validate", { flow: flow_ });
      return [
        body.valid,
        body.problems.map((each: { code: string; path: unknown[] }) => [each.code, ...each.path.slice(3)]),
      ];
    };
    expect(await problems({ inputs: { id: "{{in-0}}" } })).toEqual([false, [["connection_required", "connection_id"]]]);
    const { body } = await mine.secret.post("/v2/connections", {
      name: "c",
      provider_id: "checked",
      credential: { token: TOKEN },
    });
    const { connection_id } = body;
    expect(await problems({ connection_id, inputs: { number: 1 } })).toEqual([
      false,
      [
        ["unknown_input", "inputs", "number"],
        ["missing_input", "inputs", "id"],
      ],
    ]);
    expect(await problems({ connection_id, inputs: { id: 1 } })).toEqual([true, []]);
    // A model chooses the inputs that the flow does not fix.
    const tool = { type: "action", provider_id: "checked", action_id: "getOrder" };
    const agent = (more: object) =>
      flow({
        nodes: [
          node("in-0", "input"),
          node("llm-0", "llm", { prompt: "{{in-0}}", model: "m", connection_id, tools: [{ ...tool, ...more }] }),
          node("out-0", "output"),
        ],
        edges: edges("in-0 > llm-0", "llm-0 > out-0"),
      });
    const validated = await mine.secret.post("/v2/flows/validate", { flow: agent({ fixed_inputs: { no: 1 } }) });
    expect(validated.body.problems.map((each: { path: unknown[] }) => each.path.slice(3))).toEqual([
      ["tools", 0, "connection_id"],
      ["tools", 0, "fixed_inputs", "no"],
    ]);
  });

  it("is checked when its flow is deployed", async () => {
    const config = { provider_id: "http", action_id: "get", inputs: { url: upstream.url } };
    const unknown = "0197f0a0-0000-7000-8000-000000000000";
    for (const [change, code] of [
      [{ provider_id: "nobody" }, "unknown_provider"],
      [{ action_id: "none" }, "unknown_action"],
      [{ connection_id: unknown }, "unknown_connection"],
    ] as const) {
      const answer = await mine.secret.post("/v2/projects", { name: "x", flow: graph({ ...config, ...change }) });
      expect([answer.status, answer.body.detail[0].type]).toEqual([422, code]);
    }
  });

  it("does not retry a request that must not be repeated, whatever its retry policy", async () => {
    const inputs = { method: "POST", url: `${upstream.url}/status?code=503` };
    const retry = { max_attempts: 5, initial_interval_ms: 10 };
    const definition = graph({ provider_id: "http", action_id: "request", inputs });
    const nodes = definition.nodes.map((each) => (each.id === "act-0" ? { ...each, retry } : each));
    const project_id = await mine.deploy({ ...definition, nodes });
    const run = await mine.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
    expect(run.body).toMatchObject({ state: "FAILED", error: { code: "http_status", retryable: false } });
    expect(upstream.hits("/status")).toBe(1);
  });
});
