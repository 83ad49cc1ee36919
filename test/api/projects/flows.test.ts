import { createPlanCache } from "../../../src/services/projects/plans.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFlowCache } from "../../../src/services/projects/flow-cache.ts";
import { createOrganisation, type TestOrganisation } from "../../support/service.ts";
import type { TestClient } from "../../support/client.ts";
import { checkedClient } from "../http/conformance.ts";
import { echoFlow } from "../echo-flow.ts";
import { startInProcess, type InProcessApi } from "../in-process.ts";

let api: InProcessApi;
let org: TestOrganisation;
let mine: TestClient;
beforeAll(async () => {
  api = await startInProcess();
  org = await createOrganisation(api);
  mine = checkedClient(api, org.secretKey);
});
afterAll(() => api.close());

async function newProject(flow?: unknown): Promise<string> {
  const { body } = await mine.post("/v2/projects", { name: "Echo", ...(flow !== undefined && { flow }) });
  return `/v2/projects/${body.project_id}`;
}
const idOf = (path: string): string => path.split("/").at(-1) ?? "";

describe("flow versions", () => {
  it("are numbered from 1, are published by default, and keep what was sent", async () => {
    const path = await newProject();
    const first = await mine.post(`${path}/versions`, { flow: echoFlow("one {{in-0}}"), notes: "first" });
    expect(first).toMatchObject({ status: 201, body: { version: 1, published: true, notes: "first" } });
    expect(first.headers.get("location")).toBe(`${path}/versions/1`);
    const second = await mine.post(`${path}/versions`, { flow: echoFlow("two {{in-0}}"), publish: false });
    expect(second).toMatchObject({ status: 201, body: { version: 2, published: false } });
    const read = await mine.get(`${path}/versions/2`);
    expect(read.body).toMatchObject({ ...second.body, flow: echoFlow("two {{in-0}}") });
    expect((await mine.get(`${path}/versions/-1`)).body.version).toBe(1);
    expect((await mine.get(path)).body).toMatchObject({ published_version: 1, latest_version: 2 });
  });

  it("are not duplicated for the same content", async () => {
    const path = await newProject(echoFlow("a {{in-0}}"));
    await mine.post(`${path}/versions`, { flow: echoFlow("b {{in-0}}") });
    const flow = echoFlow("a {{in-0}}");
    const again = await mine.post(`${path}/versions`, { flow: { ...flow, ui: { positions: { "in-0": [1, 2] } } } });
    expect(again).toMatchObject({ status: 200, body: { version: 1, published: true } });
    expect((await mine.get(path)).body).toMatchObject({ published_version: 1, latest_version: 2 });
    const unpublished = await mine.post(`${path}/versions`, { flow: echoFlow("b {{in-0}}"), publish: false });
    expect(unpublished).toMatchObject({ status: 200, body: { version: 2, published: false } });
  });

  it("are added for new settings or examples, but not for a new layout alone", async () => {
    const { body: project } = await mine.post("/v2/projects", { name: "Settings", flow: echoFlow() });
    const deploy = async (more: object): Promise<[number, number]> => {
      const flow = { ...echoFlow(), ...more };
      const { status, body } = await mine.post(`/v2/projects/${project.project_id}/versions`, { flow });
      return [status, body.version];
    };
    expect(await deploy({ settings: { timeout_seconds: 5 } })).toEqual([201, 2]);
    expect(await deploy({ settings: { timeout_seconds: 6 } })).toEqual([201, 3]);
    expect(await deploy({ examples: [{ name: "one", inputs: { "in-0": "a" } }] })).toEqual([201, 4]);
    expect(await deploy({ examples: [{ name: "one", inputs: { "in-0": "b" } }] })).toEqual([201, 5]);
    expect(await deploy({ ui: { positions: { "in-0": { x: 1, y: 2 } } } })).toEqual([200, 1]);
  });

  it("deployed at the same time get different numbers, and the same content gets one number", async () => {
    const path = await newProject();
    const texts = ["a", "b", "c", "d", "a", "b", "c", "d"];
    const answers = await Promise.all(texts.map((text) => mine.post(`${path}/versions`, { flow: echoFlow(text) })));
    expect(
      answers
        .filter((answer) => answer.status === 201)
        .map((answer) => Number(answer.body.version))
        .toSorted((a, b) => a - b),
    ).toEqual([1, 2, 3, 4]);
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(4);
  });

  it("can be published in any order", async () => {
    const path = await newProject(echoFlow("one"));
    await mine.post(`${path}/versions`, { flow: echoFlow("two") });
    const back = await mine.post(`${path}/versions/1/publish`);
    expect(back).toMatchObject({ status: 200, body: { version: 1, published: true } });
    expect((await mine.get(path)).body.published_version).toBe(1);
    const { body } = await mine.get(`${path}/versions`, { query: { order: "asc" } });
    expect(body.data.map((each: { version: number; published: boolean }) => [each.version, each.published])).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(body.data[0]).not.toHaveProperty("flow");
    expect((await mine.post(`${path}/versions/2/publish`)).body.published).toBe(true);
  });

  it("cannot be published again if a flow that they call was deleted", async () => {
    const called = await newProject(echoFlow());
    const nodes = [
      { id: "sub-0", type: "subflow", config: { project_id: idOf(called), inputs: { "in-0": "'a'" } } },
      { id: "out-0", type: "output" },
    ];
    const path = await newProject({
      ...echoFlow(),
      examples: [],
      nodes,
      edges: [{ source: "sub-0", target: "out-0" }],
    });
    await mine.post(`${path}/versions`, { flow: echoFlow("two") });
    expect((await mine.delete(called)).status).toBe(204);
    const back = await mine.post(`${path}/versions/1/publish`);
    expect(back).toMatchObject({ status: 409, body: { code: "conflict", detail: expect.stringContaining("sub-0") } });
    expect((await mine.get(path)).body.published_version).toBe(2);
  });

  it("return 404 flow_version_not_found if they do not exist", async () => {
    const path = await newProject();
    const answers = await Promise.all([
      mine.get(`${path}/versions/1`),
      mine.get(`${path}/versions/-1`),
      mine.post(`${path}/versions/7/publish`),
      mine.get(`${path}/io-schema`),
      mine.get(`${path}/io-schema?version=3`),
      mine.get(`${path}/snippets`),
    ]);
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 404, body: { code: "flow_version_not_found" } });
  });

  it("with problems are rejected, each problem with its location", async () => {
    const path = await newProject();
    const flow = { ...echoFlow("{{ unclosed"), surplus: true };
    const answer = await mine.post(`${path}/versions`, { flow });
    expect(answer.status).toBe(422);
    const places = answer.body.detail.map((issue: { loc: unknown[] }) => issue.loc.join("."));
    expect(places).toEqual(expect.arrayContaining(["body.flow.surplus", "body.flow.nodes.1.config.template"]));
    expect((await mine.get(path)).body.latest_version).toBe(0);
    expect((await mine.post(`${path}/versions`, {})).body.detail).toEqual([
      { loc: ["body", "flow"], msg: "Field required", type: "missing" },
    ]);
  });

  it("that call missing projects are rejected", async () => {
    const path = await newProject();
    const stranger = checkedClient(api, (await createOrganisation(api)).secretKey);
    const { body: theirs } = await stranger.post("/v2/projects", { name: "Theirs", flow: echoFlow() });
    const called = await newProject(echoFlow());
    const flowCalling = (project_id: string, version = -1) => ({
      schema_version: 1,
      name: "Caller",
      nodes: [
        {
          id: "map-0",
          type: "map",
          config: {
            items: "[1]",
            flow: {
              nodes: [
                { id: "sub-0", type: "subflow", config: { project_id, version } },
                { id: "out-1", type: "output" },
              ],
              edges: [{ source: "sub-0", target: "out-1" }],
            },
          },
        },
        { id: "out-0", type: "output" },
      ],
      edges: [{ source: "map-0", target: "out-0" }],
    });
    for (const [project_id, version] of [
      ["nonsense", -1],
      [theirs.project_id, -1],
      [idOf(called), 9],
    ] as const) {
      const answer = await mine.post(`${path}/versions`, { flow: flowCalling(project_id, version) });
      expect([answer.status, answer.body.detail]).toEqual([
        422,
        [
          {
            loc: ["body", "flow", "nodes", 0, "config", "flow", "nodes", 0, "config", "project_id"],
            msg: expect.any(String),
            type: "unknown_project",
          },
        ],
      ]);
      expect(answer.body.problems[0]).toMatchObject({ code: "unknown_project", node_id: "sub-0" });
    }
    expect((await mine.post(`${path}/versions`, { flow: flowCalling(idOf(called), 1) })).status).toBe(201);
  });

  it("wide-flow: with too many nodes are rejected", async () => {
    const nodes = Array.from({ length: 20_000 }, (_, n) => ({ id: `in-${n}`, type: "input" }));
    const answer = await mine.post("/v2/flows/validate", {
      flow: { schema_version: 1, name: "Wide", nodes, edges: [] },
    });
    expect(answer.body).toMatchObject({ valid: false, problems: [{ code: "too_many_nodes" }] });
  });
});

describe("the description of how to call a flow", () => {
  it("contains JSON Schemas", async () => {
    const path = await newProject(echoFlow());
    const { status, body } = await mine.get(`${path}/io-schema`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      project_id: idOf(path),
      name: "Echo",
      version: 1,
      inputs: {
        additionalProperties: true,
        required: ["in-0"],
        properties: { "in-0": { type: "string", "x-node-type": "input" } },
      },
      outputs: { properties: { "out-0": {} } },
      pauses: [],
      examples: [{ name: "hello" }],
    });
  });

  it("contains an OpenAPI document and a tool definition", async () => {
    const path = await newProject(echoFlow());
    const openapi = await mine.get(`${path}/io-schema?format=openapi&version=1`);
    expect(Object.keys(openapi.body.paths)).toEqual([`/inference/v0/run/${org.org_id}/${idOf(path)}`]);
    expect((await mine.get(`${path}/io-schema?format=mcp`)).body).toMatchObject({
      name: "Echo",
      inputSchema: { type: "object" },
    });
    const refused = await mine.get(`${path}/io-schema?format=wsdl&version=x`);
    expect(refused.body.detail.map((issue: { loc: unknown }) => issue.loc)).toEqual([
      ["query", "version"],
      ["query", "format"],
    ]);
  });

  it("contains snippets in three languages, with the flow's example filled in", async () => {
    const path = await newProject(echoFlow());
    const { body } = await mine.get(`${path}/snippets`);
    for (const snippet of [body.curl, body.python, body.javascript]) {
      expect(snippet).toContain(`${new URL(api.url).port}/inference/v0/run/${org.org_id}/${idOf(path)}`);
      expect(snippet).toContain("hello");
      expect(snippet).not.toContain(org.secretKey);
    }
  });

  it("uses the configured public URL", async () => {
    const configured = await startInProcess({
      databaseUrl: api.databaseUrl,
      env: { MILLRACE_PUBLIC_URL: "https://flows.example/api/" },
    });
    const path = await newProject(echoFlow());
    const { body } = await checkedClient(configured, org.secretKey).get(`${path}/snippets`);
    expect(body.curl).toContain("https://flows.example/api/inference/v0/run/");
    await configured.close();
  });
});

describe("validating a flow", () => {
  it("accepts a valid one, and stores nothing", async () => {
    const before = (await mine.get("/v2/projects")).body.data.length;
    expect((await mine.post("/v2/flows/validate", { flow: echoFlow() })).body).toEqual({ valid: true, problems: [] });
    expect((await mine.get("/v2/projects")).body.data.length).toBe(before);
  });

  it("reports all problems together", async () => {
    const flow = {
      ...echoFlow(),
      nodes: [
        { id: "constructor", type: "input" },
        { id: "x-0", type: "teleport" },
      ],
    };
    const { status, body } = await mine.post("/v2/flows/validate", { flow });
    expect([status, body.valid]).toEqual([200, false]);
    expect(body.problems.map((problem: { code: string }) => problem.code)).toEqual(
      expect.arrayContaining(["bad_id", "unknown_kind"]),
    );
  });

  it("reports missing flows that it calls, another organisation's among them, like a deployment", async () => {
    const stranger = checkedClient(api, (await createOrganisation(api)).secretKey);
    const { body: foreign } = await stranger.post("/v2/projects", { name: "Foreign", flow: echoFlow() });
    for (const project_id of [org.org_id, foreign.project_id, "p"]) {
      const flow = {
        ...echoFlow(),
        nodes: [
          { id: "sub-0", type: "subflow", config: { project_id } },
          { id: "out-0", type: "output", config: {} },
        ],
        edges: [{ source: "sub-0", target: "out-0" }],
      };
      const { body } = await mine.post("/v2/flows/validate", { flow });
      const deployed = await mine.post("/v2/projects", { name: "Calls", flow });
      expect([body.valid, deployed.status]).toEqual([false, 422]);
      expect(deployed.body.problems).toMatchObject([{ code: "unknown_project", node_id: "sub-0" }]);
      expect(body.problems).toEqual(expect.arrayContaining(deployed.body.problems));
    }
  });

  it("reports syntax errors in code with node and line, without executing it", async () => {
    const code = (source: string) => ({
      ...echoFlow(),
      examples: [],
      nodes: [
        {
          id: "map-0",
          type: "map",
          config: {
            items: "[1]",
            flow: {
              nodes: [
                { id: "code-0", type: "code", config: { source } },
                { id: "out-0", type: "output", config: {} },
              ],
              edges: [{ source: "code-0", target: "out-0" }],
            },
          },
        },
        { id: "out-0", type: "output", config: {} },
      ],
      edges: [{ source: "map-0", target: "out-0" }],
    });
    const flow = code("function main() {\n  return 1 +;\n}");
    const { body } = await mine.post("/v2/flows/validate", { flow });
    expect(body).toMatchObject({
      valid: false,
      problems: [
        {
          code: "invalid_code",
          severity: "error",
          node_id: "code-0",
          node_path: "map-0/code-0",
          path: ["nodes", 0, "config", "flow", "nodes", 0, "config", "source"],
          message: "Line 2: Unexpected token",
        },
      ],
    });
    expect((await mine.post("/v2/projects", { name: "Code", flow })).status).toBe(422);
    const endless = code("for (;;) {}\nasync function main({ a }) { return a ?? (await import.call(a)); }");
    const good = code(
      "for (;;) {}\nasync function main({ a = 1n, ...rest }) { await null; return rest?.b ?? a ** 2n; }",
    );
    expect((await mine.post("/v2/flows/validate", { flow: endless })).body.problems[0].message).toMatch(/^Line 2: /);
    expect((await mine.post("/v2/flows/validate", { flow: good })).body).toEqual({ valid: true, problems: [] });
  });

  it("warns of a flow that calls itself, at any depth, and of no other", async () => {
    const path = await newProject(echoFlow());
    const other = await newProject(echoFlow());
    const calls = (called: string) => {
      const flow = {
        nodes: [
          { id: "sub-0", type: "subflow", config: { project_id: called.toUpperCase() } },
          { id: "out-0", type: "output", config: {} },
        ],
        edges: [{ source: "sub-0", target: "out-0" }],
      };
      return {
        ...echoFlow(),
        examples: [],
        nodes: [
          { id: "map-0", type: "map", config: { items: "[1]", flow } },
          { id: "out-0", type: "output", config: {} },
        ],
        edges: [{ source: "map-0", target: "out-0" }],
      };
    };
    const flow = calls(idOf(path));
    const { body } = await mine.post("/v2/flows/validate", { flow, project_id: idOf(path) });
    expect(body).toMatchObject({
      valid: true,
      problems: [{ code: "calls_itself", severity: "warning", node_id: "sub-0", node_path: "map-0/sub-0" }],
    });
    expect(body.problems[0].message).toMatch(/nested more than 10 levels/);
    expect((await mine.post(`${path}/versions`, { flow })).status).toBe(201);
    for (const project_id of [idOf(other), undefined]) {
      const answer = await mine.post("/v2/flows/validate", { flow, project_id });
      expect(answer.body).toEqual({ valid: true, problems: [] });
    }
    expect((await mine.post("/v2/flows/validate", { flow, project_id: "p" })).status).toBe(422);
  });

  it("returns what each node can read with expand=scope", async () => {
    const flow = echoFlow("{{ in-0.name }}");
    const { body } = await mine.post("/v2/flows/validate?expand=scope", { flow });
    expect(body).toMatchObject({ valid: true, problems: [{ code: "reads_unknown_field", severity: "warning" }] });
    expect(body.scope.nodes[1]).toEqual({ node_path: "tpl-0", path: ["nodes", 1], sees: ["in-0", "$inputs", "$run"] });
    expect(body.scope.values[0]).toMatchObject({ kind: expect.any(String), schema: expect.any(Object) });
    expect(body.scope.edges).toHaveLength(flow["edges"] instanceof Array ? flow["edges"].length : 0);
    expect((await mine.post("/v2/flows/validate?expand=all", { flow })).status).toBe(422);
    expect((await mine.post("/v2/flows/validate", { flow })).body).not.toHaveProperty("scope");
  });

  it("knows what actions and called flows return, of visible projects only", async () => {
    const called = idOf(await newProject(echoFlow()));
    const nodes = [
      { id: "act-0", type: "action", config: { provider_id: "slack", action_id: "post_message" } },
      { id: "sub-0", type: "subflow", config: { project_id: called, inputs: { "in-0": "1" } } },
      { id: "gone-0", type: "subflow", config: { project_id: idOf(await newProject()), inputs: {} } },
      { id: "out-0", type: "output", config: { value: "{{ act-0.ts }}{{ sub-0.out-9 }}{{ gone-0.any }}" } },
    ];
    const flow = { ...echoFlow(), nodes, edges: nodes.slice(0, 3).map(({ id }) => ({ source: id, target: "out-0" })) };
    const schemas = async (who: TestClient): Promise<Record<string, unknown>> => {
      const { body } = await who.post("/v2/flows/validate?expand=scope", { flow });
      const values: Array<{ key: string; schema: unknown }> = body.scope.values;
      return Object.fromEntries(values.map(({ key, schema }) => [key, schema]));
    };
    expect(await schemas(mine)).toMatchObject({
      "act-0": { properties: { channel: { type: "string" } } },
      "sub-0": { properties: { "out-0": { type: "string" } } },
      "gone-0": { type: "object" },
    });
    const other = await createOrganisation(api);
    expect((await schemas(checkedClient(api, other.secretKey)))["sub-0"]).toEqual({ type: "object" });
  });

  it("lists the node types for editors, and returns 304 for a current ETag", async () => {
    const { status, body, headers } = await mine.get("/v2/flows/node-kinds");
    expect(status).toBe(200);
    expect(body.data.find(({ type }: { type: string }) => type === "condition")).toMatchObject({
      title: "Condition",
      group: "logic",
      handles: [{ handle: "case:{id}", each: "cases" }, { handle: "else" }, { handle: "error" }],
      config: { properties: { cases: { items: { properties: { when: { "x-language": "cel" } } } } } },
    });
    const kept = (tag: string) => mine.get("/v2/flows/node-kinds", { headers: { "if-none-match": tag } });
    const tag = headers.get("etag") ?? "";
    expect(await kept(`"other", W/${tag}`)).toMatchObject({ status: 304, body: "" });
    expect((await kept('"other"')).status).toBe(200);
    expect((await checkedClient(api).get("/v2/flows/node-kinds")).status).toBe(401);
    expect((await checkedClient(api, org.publicKey).get("/v2/flows/node-kinds")).status).toBe(403);
    expect((await mine.get("/v2/flows/node-kinds?group=logic")).status).toBe(422);
  });

  it("publishes the schema of the flow format", async () => {
    const answer = await mine.get("/v2/flows/schema");
    expect(answer.headers.get("content-type")).toBe("application/schema+json");
    expect(answer.body).toMatchObject({ $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" });
  });
});

describe("evaluating an expression", () => {
  const evaluate = (body: object, by = mine) => by.post("/v2/flows/evaluate", body);

  it("returns what a node would, with the given values only", async () => {
    const values = { nodes: { "in-0": "Ada", "http-0": { body: [1, 2] } }, inputs: { "in-0": "Ada" }, index: 3 };
    for (const [language, source, value] of [
      ["liquid", "Dear {{ in-0 }}, {{ nodes['http-0'].body.size }}{% if missing %}!{% endif %}", "Dear Ada, 2"],
      ["cel", 'size(nodes["http-0"].body) + index', 5],
      ["cel", "inputs", { "in-0": "Ada" }],
      ["cel", "run.user_id", null],
    ] as const) {
      const { status, body } = await evaluate({ language, source, ...values });
      expect([source, status, body]).toEqual([source, 200, { value, error: null }]);
    }
    const { body } = await evaluate({ language: "cel", source: "item * last", item: 2, last: 4 });
    expect(body).toEqual({ value: 8, error: null });
  });

  it("returns the error that a node would have, also for work without an end", async () => {
    for (const [language, source, code] of [
      ["liquid", "{{ in-0 | nofilter }}", "template_failed"],
      ["cel", 'nodes["in-0"].name', "expression_failed"],
      ["cel", "1 +", "expression_failed"],
      [
        "liquid",
        "{% for a in (1..9999) %}{% for b in (1..9999) %}{% for c in (1..9999) %}{% endfor %}{% endfor %}{% endfor %}",
        "template_failed",
      ],
    ] as const) {
      const { status, body } = await evaluate({ language, source });
      expect([source, status, body.value, body.error?.code]).toEqual([source, 200, null, code]);
    }
  });

  it("says how long a result is that it does not return as a whole", async () => {
    const nodes = { "in-0": "é".repeat(200_000) };
    const { body } = await evaluate({ language: "liquid", source: "{{ in-0 }}", nodes });
    expect(body.value).toMatchObject({ $truncated: true, size: 400_000 });
    expect(body.value.preview).toHaveLength(10_000);
  });

  it("rejects bad input and callers without a key, and shows viewers no other organisation's values", async () => {
    for (const body of [
      { language: "sql", source: "" },
      { language: "cel" },
      { language: "cel", source: "1", nodes: { "not an id": 1 } },
      { language: "cel", source: "1", secret: true },
    ])
      expect((await evaluate(body)).status).toBe(422);
    const ask = { language: "cel", source: "[size(nodes), size(inputs)]" };
    expect((await evaluate(ask, checkedClient(api))).status).toBe(401);
    expect((await evaluate(ask, checkedClient(api, org.publicKey))).status).toBe(403);
    const other = await createOrganisation(api);
    expect((await evaluate(ask, checkedClient(api, other.secretKey))).body).toEqual({ value: [0, 0], error: null });
  });
});

describe("the cache of deployed flows", () => {
  it("returns the published flow, a given version, or a 404", async () => {
    const cache = createFlowCache(api.db, createPlanCache(api.db));
    const path = await newProject(echoFlow("one"));
    await mine.post(`${path}/versions`, { flow: echoFlow("two") });
    const published = await cache.get(org.org_id, idOf(path), -1);
    expect(published).toMatchObject({ version: 2, project: { name: "Echo" }, plan: { nodes: expect.any(Array) } });
    expect((await cache.get(org.org_id, idOf(path).toUpperCase(), 1)).version).toBe(1);
    const stranger = await createOrganisation(api);
    for (const [orgId, projectId] of [
      [stranger.org_id, idOf(path)],
      [org.org_id, stranger.org_id],
      [org.org_id, "../etc"],
    ] as const) {
      await expect(cache.get(orgId, projectId, -1)).rejects.toMatchObject({
        code: "not_found",
        message: "Flow not found.",
      });
    }
    for (const version of [0, 3, 2 ** 40]) {
      await expect(cache.get(org.org_id, idOf(path), version)).rejects.toMatchObject({
        code: "flow_version_not_found",
      });
    }
    await expect(cache.get(org.org_id, idOf(await newProject()), -1)).rejects.toMatchObject({
      code: "flow_version_not_found",
    });
  });

  it("notices another process's publish and delete within a second, and its own immediately", async () => {
    const cache = createFlowCache(api.db, createPlanCache(api.db));
    const path = await newProject(echoFlow("one"));
    const version = () =>
      cache.get(org.org_id, idOf(path), -1).then(
        ({ version: number }) => number,
        (error: Error) => error.message,
      );
    expect(await version()).toBe(1);
    await mine.post(`${path}/versions`, { flow: echoFlow("two") });
    await expect.poll(version, { timeout: 1500, interval: 100 }).toBe(2);
    await mine.post(`${path}/versions/1/publish`);
    cache.invalidate(org.org_id, idOf(path));
    expect(await version()).toBe(1);
    await mine.delete(path);
    await expect.poll(version, { timeout: 1500, interval: 100 }).toBe("Flow not found.");
  });
});
