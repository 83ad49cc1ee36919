import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { flow, openBench, type Bench, type Run } from "../engine/support.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { startService, type OwnService } from "../support/service.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";

// What a flow or a run's input can try over HTTP against a separate installation.

let service: OwnService;
let bench: Bench;
/** On loopback, which this installation may not call. */
let target: HttpTarget;
/** On the shared installation, which may call loopback. */
let open: Bench;
beforeAll(async () => {
  [service, target] = await Promise.all([
    startService({ env: { MILLRACE_PRIVATE_HOSTS: "", MILLRACE_SECRET_MARK: "do-not-reveal" } }),
    startHttpTarget(),
  ]);
  [bench, open] = await Promise.all([openBench(service), openBench()]);
});
afterAll(() => Promise.all([service?.close(), target?.close()]));

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };

/** A flow with one node between its input and its output. */
function through(type: string, config: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return flow([input, { id: "x-0", type, config, ...more }, out], ["in-0>x-0", "x-0>out-0"]);
}

/** Expects that a harmless run still completes, so the processes still work. */
async function expectAlive(on: Bench = bench): Promise<void> {
  const run = await on.run(through("template", { template: "{{in-0}}!" }), { "in-0": "alive" });
  expect(run.outputs).toEqual({ "out-0": "alive!" });
}

/** Deploys and runs a flow, or returns the problems of the deployment. */
async function attempt(definition: object, text = "x"): Promise<Run | { readonly problems: unknown }> {
  const { status, body } = await bench.api.post("/v2/projects", { name: "hostile", flow: definition });
  if (status === 422) return { problems: body.detail };
  expect(status, JSON.stringify(body)).toBe(201);
  const { run_id } = await bench.start(body.project_id, { "in-0": text });
  return bench.until(run_id);
}

describe("expression-escape", () => {
  it.each([
    ["template", { template: "{{ in-0.constructor.constructor('return process')() }}" }],
    ["template", { template: "{{ nodes.constructor.prototype }}{{ nodes.__proto__.polluted }}" }],
    ["template", { template: "{% include '/etc/passwd' %}" }],
    ["template", { template: "{% render '../../package.json' %}{% layout 'x' %}" }],
    ["set", { values: { x: 'nodes["in-0"].constructor' } }],
    ["set", { values: { x: "nodes.constructor.constructor('return process')()" } }],
    ["set", { values: { x: "process.env.MILLRACE_SECRET_MARK" } }],
    ["guard", { check: "globalThis.process.exit()", message: "x" }],
  ])("a %s cannot reach anything outside the language: %j", async (type, config) => {
    const result = await attempt(through(type, config));
    expect(JSON.stringify(result)).not.toMatch(/do-not-reveal|native code|root:.*:0:0|"dependencies"/);
    if ("state" in result && result.state === "COMPLETED") expect(result.outputs["out-0"]).toBe("");
  });
});

describe("double-render", () => {
  it("text from a user is never rendered again, not even after a node has processed it", async () => {
    const text = '{{7*7}} {% assign x = 1 %} ${7*7} {{ nodes["in-0"] }} " + run.id + "';
    const definition = flow(
      [
        input,
        { id: "tpl-0", type: "template", config: { template: "<{{in-0}}>" } },
        { id: "set-0", type: "set", config: { values: { a: 'nodes["tpl-0"]' } } },
        { id: "tpl-1", type: "template", config: { template: "{{ nodes['set-0'].a }}" } },
        out,
      ],
      ["in-0>tpl-0", "tpl-0>set-0", "set-0>tpl-1", "tpl-1>out-0"],
    );
    expect((await bench.run(definition, { "in-0": text })).outputs).toEqual({ "out-0": `<${text}>` });
  });
});

describe("code-escape", () => {
  const code = (source: string) =>
    through("code", { source: `function main(args) { ${source} }`, args: { a: 'nodes["in-0"]' } });

  it("a script finds no process, modules, network or files", async () => {
    const names = "process require fetch XMLHttpRequest WebSocket Deno Bun std os setTimeout".split(" ");
    const { outputs } = await bench.run(
      code(
        `return [${names.map((name) => `typeof ${name}`).join(",")}, typeof this.constructor.constructor("return typeof process")()];`,
      ),
      { "in-0": "x" },
    );
    expect(outputs["out-0"].slice(0, names.length)).toEqual(names.map(() => "undefined"));
    const env = await bench.run(
      code(
        `return String((() => {}).constructor("return typeof process === 'undefined' ? 'none' : JSON.stringify(process.env)")());`,
      ),
      { "in-0": "x" },
    );
    expect(JSON.stringify(env)).not.toContain("do-not-reveal");
  });

  it.each([
    ["for ever", "for (;;);"],
    ["into all memory", "const all = []; for (;;) all.push(new Array(100000).fill('x'));"],
    ["into the stack", "const f = () => f() + 1; return f();"],
    ["into one long string", "let s = 'x'; for (;;) s += s;"],
  ])("a script that runs %s is stopped, and the worker keeps running", async (_, source) => {
    const definition = through("code", { source: `function main() { ${source} }`, args: {} }, { timeout_ms: 3000 });
    const run = (await attempt(definition)) as Run;
    expect(run.state).toBe("FAILED");
    expect(service.worker.every((each) => each.running())).toBe(true);
    await expectAlive();
  });
});

describe("proto-pollution", () => {
  it.each(["__proto__", "constructor", "prototype"])("a node cannot be named %s", async (id) => {
    const text = `{"flow":{"schema_version":1,"name":"x","nodes":[{"id":"${id}","type":"input"},{"id":"out-0","type":"output"}],"edges":[]}}`;
    const { status, body } = await bench.api.post("/v2/flows/validate", text, {
      headers: { "content-type": "application/json" },
    });
    if (status === 200) expect(body.valid).toBe(false);
    else expect(status).toBe(422);
  });

  it("field names such as __proto__ stay data in inputs, code and expressions", async () => {
    const definition = flow(
      [
        input,
        {
          id: "code-0",
          type: "code",
          config: { source: "function main(a) { return JSON.parse(a.text); }", args: { text: 'nodes["in-0"]' } },
        },
        { id: "set-0", type: "set", config: { values: { constructor: "1", toString: "2" } } },
        { id: "tpl-0", type: "template", config: { template: "{{ set-0 | json }}{{ code-0.polluted }}" } },
        out,
      ],
      ["in-0>code-0", "code-0>set-0", "set-0>tpl-0", "tpl-0>out-0"],
    );
    const result = await attempt(
      definition,
      '{"__proto__": {"polluted": "yes"}, "constructor": {"prototype": {"polluted": "yes"}}}',
    );
    if ("state" in result && result.state === "COMPLETED") expect(result.outputs["out-0"]).not.toContain("yes");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    await expectAlive();
  });
});

describe("ssrf", () => {
  const addresses = (port: number): string[] => [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://2130706433:${port}/`,
    `http://0x7f000001:${port}/`,
    `http://0177.0.0.1:${port}/`,
    `http://127.1:${port}/`,
    `http://[::1]:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://0.0.0.0:${port}/`,
    `http://user:pw@127.0.0.1:${port}/`,
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
  ];

  it("http and url nodes cannot reach a private address, however it is written", async () => {
    const http = await bench.deploy(through("http", { url: "{{in-0}}" }));
    const url = await bench.deploy(flow([{ id: "url-0", type: "url" }, out], ["url-0>out-0"]));
    for (const address of addresses(target.port)) {
      const run = await bench.until((await bench.start(http, { "in-0": address })).run_id);
      expect([address, run.state], JSON.stringify(run.error)).toEqual([address, "FAILED"]);
      const { status, body } = await bench.api.post("/v2/runs", { project_id: url, inputs: { "url-0": address } });
      if (status === 422) continue;
      expect([address, (await bench.until(body.run_id)).state]).toEqual([address, "FAILED"]);
    }
    expect(target.requests).toEqual([]);
  });

  it("webhooks cannot reach a private address, neither at creation nor at delivery", async () => {
    const subscriptions = "/v2/webhooks/subscriptions";
    for (const url of addresses(target.port)) {
      const { status, body } = await bench.api.post(subscriptions, { url, events: ["*"] });
      expect([url, status, body.detail?.[0]?.loc]).toEqual([url, 422, ["body", "url"]]);
    }
    // As if a name's address had been public during the check and private during the call.
    const { body: made } = await bench.api.post(subscriptions, {
      url: "https://receiver.invalid/",
      events: ["skill.*"],
    });
    const path = `${subscriptions}/${made.subscription_id}`;
    const database = openDatabase({
      url: service.databaseUrl,
      poolSize: 2,
      applicationName: "millrace-test",
      onError: () => undefined,
    });
    await database.system((db) =>
      db.query("update webhook_subscriptions set url = $2 where subscription_id = $1", [
        made.subscription_id,
        `http://localhost:${target.port}/`,
      ]),
    );
    await database.close();
    const { body: delivery } = await bench.api.post(`${path}/test`);
    await expect
      .poll(async () => (await bench.api.get(`${path}/deliveries/${delivery.delivery_id}`)).body)
      .toMatchObject({ status: "retrying", attempts_made: [{ error: { code: "address_not_allowed" } }] });
    expect(target.requests).toEqual([]);
    await bench.api.delete(path);
  });
});

describe("run-carries-code", () => {
  it("a run accepts no flow definition, and validating one executes nothing", async () => {
    const definition = through("http", { url: `${target.url}/executed` });
    const own = await open.deploy(through("template", { template: "mine" }));
    const path = `/inference/v0/run/${open.org_id}/${own}`;
    const { status, body } = await open.api.post(path, {
      "in-0": "x",
      flow: definition,
      nodes: definition.nodes,
      "x-0": "theirs",
    });
    expect([status, body.outputs]).toEqual([200, { "out-0": "mine" }]);
    expect(body.metadata.ignored_inputs.toSorted()).toEqual(["flow", "nodes", "x-0"]);
    expect((await open.api.post("/v2/flows/validate", { flow: definition })).body.valid).toBe(true);
    expect(target.hits("/executed")).toBe(0);
  });
});

describe("secret-in-error", () => {
  it("secrets in a node's request are in no record, response or log", async () => {
    target.on("/leak", (request, response) => {
      response.writeHead(401).end(`refused: ${request.headers["authorization"]} token=${request.url}`);
    });
    const definition = through("http", {
      url: `${target.url}/leak`,
      headers: { Authorization: "Bearer sup3r-s3cret-value" },
      query: { api_key: "an0ther-s3cret" },
    });
    const project = await open.deploy(definition);
    const answer = await open.api.post(`/inference/v0/run/${open.org_id}/${project}`, { "in-0": "x" });
    expect(answer.status).toBe(502);
    const run = await open.until(answer.body.run_id);
    const events = await open.api.raw("GET", `/v2/runs/${run.run_id}`, undefined, {
      headers: { accept: "text/event-stream" },
    });
    const all = JSON.stringify([answer.body, run]) + (await events.text());
    expect(all).not.toMatch(/sup3r-s3cret|an0ther-s3cret/);
    expect(all).toContain("[redacted]");
  });
});

describe("half-character", () => {
  it.each([
    [
      "a code node says",
      "code",
      { source: "function main({ q }) { throw new Error('bad: ' + q.slice(0, 3)); }", args: { q: 'nodes["in-0"]' } },
    ],
    [
      "a code node is called",
      "code",
      { source: "function main() { const e = new Error(''); e.name = '\\ud83d'; throw e; }", args: {} },
    ],
    ["a guard says", "guard", { check: "false", message: "{{ in-0 | slice: 0, 3 }}" }],
    ["an expression names", "set", { values: { a: 'nodes["in-0"].substring(0, 3).missing' } }],
  ])("half a character in what %s crashes no process", async (_, type, config) => {
    const before = service.worker.map((each) => each.pid());
    const run = (await attempt(through(type, config), "ab\u{1f600}")) as Run;
    expect(run.state).toBe("FAILED");
    expect(service.worker.map((each) => each.pid())).toEqual(before);
    expect(service.worker.every((each) => each.running())).toBe(true);
    await expectAlive();
  });
});

describe("crlf", () => {
  it("a header that a value would split is not sent", async () => {
    const run = await open.run(through("http", { url: `${target.url}/crlf`, headers: { "X-Name": "{{in-0}}" } }), {
      "in-0": "a\r\nX-Injected: yes",
    });
    expect(run.state).toBe("FAILED");
    expect(target.hits("/crlf")).toBe(0);
  });
});

describe("regex-dos", () => {
  it("patterns in expressions take time linear in the text", async () => {
    const run = await bench.run(through("set", { values: { x: 'nodes["in-0"].matches("^(a+)+$")' } }), {
      "in-0": `${"a".repeat(50_000)}!`,
    });
    expect([run.state, run.outputs["out-0"]]).toEqual(["COMPLETED", { x: false }]);
  });

  it("an endless expression is aborted, and the worker keeps running", async () => {
    const much = "[1,2,3,4,5,6,7,8,9,10]".replaceAll(/\d+/g, (n) => `${n}`);
    const nested = Array.from({ length: 9 }, (_, i) => `${much}.all(x${i}, `).join("") + "true" + ")".repeat(9);
    const result = await attempt(through("set", { values: { x: nested } }));
    expect("problems" in result || result.state === "FAILED").toBe(true);
    const endless = await attempt(
      through("template", {
        template: "{% for a in (1..100000) %}{% for b in (1..100000) %}x{% endfor %}{% endfor %}",
      }),
    );
    expect("problems" in endless || endless.state === "FAILED").toBe(true);
    await expectAlive();
  });
});

describe("oversized value", () => {
  it.each([
    ["exactly as long as it may be", "x".repeat(25 * 1024 * 1024)],
    ["whose JSON is twice as long", '"'.repeat(14 * 1024 * 1024)],
  ])("an input %s is accepted and returned whole", async (_, text) => {
    const project = await bench.deploy(
      flow(
        [
          { id: "in-0", type: "input" },
          { id: "out-0", type: "output" },
        ],
        ["in-0>out-0"],
      ),
    );
    const { status, body } = await bench.api.post("/v2/runs", { project_id: project, inputs: { "in-0": text } });
    expect([status, body.code]).toEqual([201, undefined]);
    const { run_id } = body;
    const run = await bench.until(run_id, "COMPLETED");
    expect(run.outputs["out-0"].length).toBe(text.length);
    expect(run.outputs["out-0"] === text).toBe(true);
  });

  it("a value of some megabytes is stored by reference, and a value above the limit fails without a retry", async () => {
    const make = (bytes: number) =>
      through(
        "code",
        { source: `function main() { return "x".repeat(${bytes}); }`, args: {} },
        { retry: { max_attempts: 3 } },
      );
    const carried = await bench.run(make(3_000_000), { "in-0": "x" });
    expect(carried.state).toBe("COMPLETED");
    const refused = await bench.run(make(27 * 1024 * 1024), { "in-0": "x" });
    expect(refused).toMatchObject({ state: "FAILED", error: { attempt: 1 } });
    expect(refused.nodes.find(({ node_id }) => node_id === "x-0")?.attempts).toBe(1);
    await expectAlive();
  });
});
