import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../../src/domain/flow/definition/definition.ts";
import type { Answer, TestClient } from "../../support/client.ts";
import { edges, flow as flowOf, node } from "../../support/flows.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import { echoFlow } from "../echo-flow.ts";
import { checkedClient } from "../http/conformance.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let editor: TestClient;
let second: TestClient;
let viewer: TestClient;
let upstream: HttpTarget;
beforeAll(async () => {
  [tenant, upstream] = await Promise.all([openTenant(), startHttpTarget()]);
  [editor, second, viewer] = await Promise.all([tenant.user("editor"), tenant.user("editor"), tenant.user("viewer")]);
});
afterAll(() => upstream?.close());

/** A project with a version for each text; the first is published. */
async function projectWith(...texts: Array<string | FlowDefinition>): Promise<string> {
  const [first, ...more] = texts.map((text) => (typeof text === "string" ? (echoFlow(text) as never) : text));
  const project_id = await tenant.deploy(first as FlowDefinition);
  for (const flow of more)
    expect((await editor.post(`/v2/projects/${project_id}/versions`, { flow, publish: false })).status).toBe(201);
  return project_id;
}

const at = (project_id: string, name: string): string => `/v2/projects/${project_id}/environments/${name}`;
const inputs = { "in-0": "x" };
const start = (project_id: string, more: object = {}, who = editor) =>
  who.post("/v2/runs", { project_id, inputs, mode: "sync", ...more });
const call = (project_id: string, query: object = {}, who = tenant.secret): Promise<Answer> =>
  who.post(`/inference/v0/run/${tenant.org_id}/${project_id}`, inputs, { query: query as never });

async function connect(path: string): Promise<string> {
  const body = {
    name: path,
    provider_id: "http",
    scheme: "bearer",
    credential: { base_url: `${upstream.url}${path}`, token: "t" },
  };
  const { status, body: made } = await tenant.secret.post("/v2/connections", body);
  expect(status, JSON.stringify(made)).toBe(201);
  return made.connection_id;
}

/** Returns its label and the path that its connection leads to. */
const calling = (connection_id: string, label: string): FlowDefinition =>
  flowOf({
    nodes: [
      node("in-0", "input"),
      node("act-0", "action", { provider_id: "http", action_id: "get", connection_id, inputs: { url: "/seen" } }),
      node("out-0", "output", { value: `${label} {{nodes["act-0"].body.url}}` }),
    ],
    edges: edges("in-0 > act-0 > out-0"),
  });

describe("environments", () => {
  it("exist in every project, and production is the published version", async () => {
    const project_id = await projectWith("one", "two");
    const { body } = await viewer.get(`/v2/projects/${project_id}/environments`);
    const shown = body.data.map(({ name, version }: { name: string; version: number }) => [name, version]);
    expect(shown).toEqual([
      ["development", null],
      ["staging", null],
      ["production", 1],
    ]);
    await editor.post(`/v2/projects/${project_id}/versions/2/publish`);
    const { body: production } = await viewer.get(at(project_id, "production"));
    expect(production).toMatchObject({ version: 2, promotion: { previous_version: 1, kind: "promotion" } });
    expect((await editor.put(at(project_id, "production"), { version: 1, notes: "back" })).status).toBe(200);
    expect((await viewer.get(`/v2/projects/${project_id}`)).body.published_version).toBe(1);
  });

  it("decide which version a call runs, and runs tell and filter by it", async () => {
    const project_id = await projectWith("one", "two");
    const promoted = await editor.put(at(project_id, "staging"), { version: 2, notes: "try it" });
    expect(promoted).toMatchObject({ status: 200, body: { version: 2, promotion: { notes: "try it" } } });
    const [plain, staged, explicit] = [
      await start(project_id),
      await start(project_id, { environment: "staging" }),
      await start(project_id, { version: 2 }),
    ].map(({ body }) => [body.outputs["out-0"], body.environment]);
    expect([plain, staged, explicit]).toEqual([
      ["one", "production"],
      ["two", "staging"],
      ["two", null],
    ]);
    expect((await call(project_id, { environment: "staging" })).body.outputs).toEqual({ "out-0": "two" });
    const { body: listed } = await viewer.get("/v2/runs", { query: { project_id, environment: "staging" } });
    expect(listed.data.map(({ flow_version }: { flow_version: number }) => flow_version)).toEqual([2, 2]);
    const { body: io } = await viewer.get(`/v2/projects/${project_id}/io-schema`, {
      query: { environment: "staging" },
    });
    expect(io.version).toBe(2);
    const { body: code } = await viewer.get(`/v2/projects/${project_id}/snippets`, {
      query: { environment: "staging" },
    });
    expect(code.curl).toContain("?environment=staging");
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const tools = (environment: string) =>
      tenant.secret.post("/mcp", list, { query: { flow_id: project_id, environment } });
    expect((await tools("staging")).body.result.tools).toHaveLength(2);
    expect((await tools("development")).status).toBe(404);
  });

  it("are refused with what to do: no version, unknown, beside a version or a draft, by public keys", async () => {
    const project_id = await projectWith("one");
    const empty = await call(project_id, { environment: "development" });
    expect(empty).toMatchObject({ status: 409, body: { code: "environment_empty" } });
    expect(empty.body.detail).toContain(`PUT ${at(project_id, "development")}`);
    expect(await call(project_id, { environment: "qa" })).toMatchObject({
      status: 404,
      body: { code: "environment_not_found" },
    });
    for (const more of [{ version: 1 }, { run_draft: true }])
      expect((await call(project_id, { environment: "staging", ...more })).status).toBe(422);
    expect((await start(project_id, { environment: "staging", version: 1 })).status).toBe(422);
    expect((await call(project_id, { environment: "staging" }, tenant.public)).status).toBe(403);
    expect((await call(project_id, { environment: "production" }, tenant.public)).status).toBe(200);
    expect((await editor.put(at(project_id, "staging"), { version: 9 })).body.code).toBe("flow_version_not_found");
    expect((await viewer.put(at(project_id, "staging"), { version: 1 })).status).toBe(403);
    const { body: created } = await editor.post("/v2/projects", { name: "Empty" });
    expect((await call(created.project_id)).body.code).toBe("flow_version_not_found");
    expect((await call(created.project_id, { environment: "production" })).body.code).toBe("environment_empty");
  });

  it("can be added, renamed and deleted by admins, but production cannot", async () => {
    const project_id = await projectWith("one");
    const made = await editor.put(at(project_id, "qa"), { version: 1 });
    expect([made.status, made.headers.get("location")]).toEqual([201, at(project_id, "qa")]);
    const trigger = { project_id, provider_id: "millrace", trigger_id: "webhook", environment: "qa", config: {} };
    const { body: hook } = await editor.post("/v2/triggers", { ...trigger, inputs: { "in-0": "'t'" } });
    expect((await editor.patch(at(project_id, "qa"), { name: "acceptance" })).status).toBe(403);
    const renamed = await tenant.secret.patch(at(project_id, "qa"), { name: "acceptance" });
    expect(renamed).toMatchObject({ status: 200, body: { name: "acceptance", version: 1 } });
    expect((await viewer.get(`/v2/triggers/${hook.id}`)).body.environment).toBe("acceptance");
    expect((await tenant.secret.patch(at(project_id, "acceptance"), { name: "staging" })).status).toBe(409);
    const used = await tenant.secret.delete(at(project_id, "acceptance"));
    expect(used).toMatchObject({
      status: 409,
      body: { code: "in_use", used_by: { triggers: 1, monitors: 0, pages: 0 } },
    });
    await editor.delete(`/v2/triggers/${hook.id}`);
    expect((await tenant.secret.delete(at(project_id, "acceptance"))).status).toBe(204);
    expect((await viewer.get(at(project_id, "acceptance"))).status).toBe(404);
    expect((await tenant.secret.delete(at(project_id, "production"))).status).toBe(409);
    expect((await tenant.secret.patch(at(project_id, "production"), { name: "live" })).status).toBe(422);
    const unknown = { ...trigger, environment: "nowhere", inputs: { "in-0": "'t'" } };
    expect((await editor.post("/v2/triggers", unknown)).status).toBe(422);
  });

  it.each([
    ["a subflow", "subflow", (named: object) => ({ ...named, inputs: { "in-0": 'nodes["in-0"]' } })],
    [
      "a tool of a model",
      "llm",
      (named: object) => ({ model: "m", prompt: "p", tools: [{ type: "subflow", name: "ask", ...named }] }),
    ],
    [
      "an action that starts it",
      "action",
      (named: object) => ({ provider_id: "millrace", action_id: "start_run", inputs: named }),
    ],
  ] as const)("are neither renamed nor deleted while %s of another flow names them", async (_, type, config) => {
    const project_id = await projectWith("one");
    await editor.put(at(project_id, "qa"), { version: 1 });
    const flow = (environment: string) =>
      flowOf({
        nodes: [
          node("in-0", "input"),
          node("calls-0", type, config({ project_id, environment })),
          node("out-0", "output"),
        ],
        edges: edges("in-0 > calls-0 > out-0"),
      });
    const refused = await editor.post("/v2/projects", { name: "Wrong", flow: flow("aq"), publish: true });
    expect([refused.status, refused.body.problems]).toMatchObject([422, [{ code: "unknown_environment" }]]);
    expect(refused.body.problems[0].path.at(-1)).toBe("environment");
    const caller = await editor.post("/v2/projects", { name: "Calls it", flow: flow("qa"), publish: true });
    expect([caller.status, caller.body.problems]).toEqual([201, undefined]);
    const inUse = { status: 409, body: { code: "in_use", used_by: [{ project_id: caller.body.project_id }] } };
    expect(await tenant.secret.patch(at(project_id, "qa"), { name: "acceptance" })).toMatchObject(inUse);
    expect(await tenant.secret.delete(at(project_id, "qa"))).toMatchObject(inUse);
    expect((await tenant.secret.patch(at(project_id, "qa"), { requires_review: true })).status).toBe(200);
    expect((await tenant.secret.delete(`/v2/projects/${caller.body.project_id}`)).status).toBe(204);
    expect((await tenant.secret.patch(at(project_id, "qa"), { name: "acceptance" })).status).toBe(200);
  });

  it("go back to what they had, and the history, the version and the audit log say who and why", async () => {
    const project_id = await projectWith("one", "two");
    for (const version of [1, 2]) await editor.put(at(project_id, "staging"), { version, notes: `v${version}` });
    const back = await second.post(`${at(project_id, "staging")}/rollback`, { notes: "too long" });
    expect(back).toMatchObject({
      status: 200,
      body: { version: 1, promotion: { kind: "rollback", notes: "too long" } },
    });
    const history = async (query: object) =>
      (await viewer.get(`/v2/projects/${project_id}/promotions`, { query: query as never })).body.data;
    const all = await history({ environment: "staging" });
    expect(all.map(({ version, kind }: { version: number; kind: string }) => [version, kind])).toEqual([
      [1, "rollback"],
      [2, "promotion"],
      [1, "promotion"],
    ]);
    expect(all[0].repeats_id).toBe(all[2].promotion_id);
    expect((await history({ version: 2 })).map(({ notes }: { notes: string }) => notes)).toEqual(["v2"]);
    const { body: log } = await tenant.secret.get("/v2/audit-log", { query: { target: project_id } });
    const entry = log.data.find(({ operation }: { operation: string }) => operation === "rollBackEnvironment");
    expect(entry.changes).toMatchObject({ version: { before: 2, after: 1 } });
    const again = await second.post(`${at(project_id, "development")}/rollback`, {});
    expect(again.status).toBe(409);
  });

  it("keep child runs in the environment of their parent", async () => {
    const inner = await projectWith("inner one", "inner two");
    await editor.put(at(inner, "staging"), { version: 2 });
    const outer = await projectWith(
      flowOf({
        nodes: [
          node("in-0", "input"),
          node("flow-0", "subflow", { project_id: inner, inputs: { "in-0": "'y'" } }),
          node("out-0", "output", { value: '{{nodes["flow-0"]["out-0"]}}' }),
        ],
        edges: edges("in-0 > flow-0 > out-0"),
      }),
    );
    await editor.put(at(outer, "staging"), { version: 1 });
    await editor.put(at(outer, "development"), { version: 1 });
    const outputs: unknown[] = [];
    for (const environment of ["staging", "development", "production"])
      outputs.push((await start(outer, { environment })).body.outputs["out-0"]);
    expect(outputs).toEqual(["inner two", "inner one", "inner one"]);
    const { body: children } = await viewer.get("/v2/runs", { query: { project_id: inner } });
    const named = children.data.map(({ environment }: { environment: string }) => environment);
    expect(named).toEqual(["production", "development", "staging"]);
  });

  it("are named by subflows and by start_run, which otherwise starts production", async () => {
    const inner = await projectWith("inner one", "inner two");
    await editor.put(at(inner, "staging"), { version: 2 });
    const calls = (environment: string, more: object = {}): FlowDefinition =>
      flowOf({
        nodes: [
          node("in-0", "input"),
          node("flow-0", "subflow", { project_id: inner, inputs: { "in-0": "'y'" }, environment, ...more }),
          node("out-0", "output", { value: '{{nodes["flow-0"]["out-0"]}}' }),
        ],
        edges: edges("in-0 > flow-0 > out-0"),
      });
    const outer = await projectWith(calls("staging"), calls("development"));
    expect((await start(outer)).body.outputs["out-0"]).toBe("inner two");
    const empty = await start(outer, { version: 2 });
    expect(empty.body.error).toMatchObject({ code: "subflow_not_found" });
    expect(empty.body.error.message).toContain("no version in development");
    const both = await editor.post("/v2/flows/validate", { flow: calls("staging", { version: 1 }) });
    expect(JSON.stringify(both.body)).toContain("Set either version or environment");

    const action = (environment?: string) =>
      editor.post("/v2/providers/millrace/actions/start_run/run", {
        inputs: { project_id: inner, inputs, ...(environment === undefined ? {} : { environment }) },
      });
    const started = [await action("staging"), await action()];
    const runs = await Promise.all(started.map(({ body }) => tenant.until(body.outputs.run_id, "COMPLETED")));
    expect(runs.map(({ environment, outputs }) => [environment, outputs["out-0"]])).toEqual([
      ["staging", "inner two"],
      ["production", "inner one"],
    ]);
    for (const name of ["development", "nowhere", "draft"])
      expect((await action(name)).body, name).toMatchObject({
        successful: false,
        error: { code: "invalid_action_inputs", message: expect.stringContaining(`"${name}"`) },
      });
  });
});

describe("connections of an environment", () => {
  it("replace those of the flow, are checked, and keep connections in use", async () => {
    const [live, test] = [await connect("/live"), await connect("/test")];
    const project_id = await projectWith(calling(live, "v1"));
    const wanted = { version: 1, connections: { [live]: test } };
    expect((await editor.put(at(project_id, "staging"), wanted)).body.connections).toEqual({ [live]: test });
    expect((await start(project_id)).body.outputs["out-0"]).toBe("v1 /live/seen");
    const staged = await start(project_id, { environment: "staging" });
    expect(staged.body.outputs["out-0"]).toBe("v1 /test/seen");
    const rerun = await editor.post(`/v2/runs/${staged.body.run_id}/resume`, { from_node: "in-0", flow_version: 1 });
    const repeated = await tenant.until(rerun.body.run_id, "COMPLETED");
    expect([repeated.environment, repeated.outputs["out-0"]]).toEqual(["staging", "v1 /test/seen"]);
    expect((await tenant.secret.delete(`/v2/connections/${test}`)).body.code).toBe("in_use");
    const model = await tenant.secret.post("/v2/connections", {
      name: "model",
      provider_id: "openai_compatible",
      scheme: "bearer",
      credential: { base_url: upstream.url, token: "t" },
    });
    const other = model.body.connection_id ?? live;
    for (const connections of [{ [test]: live }, { [live]: project_id }, { [live]: other }]) {
      const refused = await editor.put(at(project_id, "staging"), { version: 1, connections });
      if (connections[live] !== live) expect(refused.status, JSON.stringify(connections)).toBe(422);
    }
    const body = { name: "limited", kind: "secret", projects: [project_id] };
    const { body: key } = await tenant.secret.post("/v2/api-keys", body);
    const limited = checkedClient(tenant.target, key.key);
    expect((await limited.put(at(project_id, "development"), wanted)).status).toBe(403);
    expect((await limited.put(at(project_id, "development"), { version: 1 })).status).toBe(200);
  });

  it("stay the same for a run in progress, and for its rerun, when the environment gets others", async () => {
    const [live, test] = [await connect("/kept-live"), await connect("/kept-test")];
    const { nodes, edges: after } = calling(live, "v1");
    const project_id = await projectWith(
      flowOf({
        nodes: [...nodes, node("approval-0", "approval", { message: "Go?" })],
        edges: [...edges("in-0 > approval-0", "approval-0:approve > act-0"), ...after.slice(1)],
      }),
    );
    await editor.put(at(project_id, "staging"), { version: 1, connections: { [live]: test } });
    const { body: run } = await start(project_id, { environment: "staging", mode: "async" });
    const { pauses } = await tenant.until(run.run_id, "PAUSED");
    await editor.put(at(project_id, "staging"), { version: 1, connections: {} });
    await editor.post(`/v2/runs/${run.run_id}/resume`, { pause_id: pauses[0].pause_id, action: "approve" });
    expect((await tenant.until(run.run_id, "COMPLETED")).outputs["out-0"]).toBe("v1 /kept-test/seen");
    const again = await editor.post(`/v2/runs/${run.run_id}/resume`, { from_node: "act-0" });
    expect((await tenant.until(again.body.run_id, "COMPLETED")).outputs["out-0"]).toBe("v1 /kept-test/seen");
  });

  it("change together with the version: no call sees a mixture while versions are promoted and rolled back", async () => {
    const [live, test] = [await connect("/a"), await connect("/b")];
    const project_id = await projectWith(calling(live, "v1"), calling(live, "v2"));
    const first = { version: 1, connections: {} };
    const next = { version: 2, connections: { [live]: test } };
    await editor.put(at(project_id, "staging"), first);
    let done = false;
    const seen = new Map<string, number>();
    const callers = Array.from({ length: 4 }, async () => {
      while (!done) {
        const { body } = await call(project_id, { environment: "staging" });
        const text = String(body.outputs?.["out-0"] ?? body.detail);
        seen.set(text, (seen.get(text) ?? 0) + 1);
      }
    });
    for (let n = 0; n < 6; n++) {
      expect((await editor.put(at(project_id, "staging"), next)).status).toBe(200);
      await call(project_id, { environment: "staging" });
      expect((await editor.post(`${at(project_id, "staging")}/rollback`, {})).status).toBe(200);
      await call(project_id, { environment: "staging" });
    }
    done = true;
    await Promise.all(callers);
    expect([...seen.keys()].toSorted()).toEqual(["v1 /a/seen", "v2 /b/seen"]);
  });
});

describe("a review", () => {
  it("lets only a second person promote what was frozen", async () => {
    const [live, test] = [await connect("/r1"), await connect("/r2")];
    const project_id = await projectWith(calling(live, "v1"), calling(live, "v2"));
    const production = at(project_id, "production");
    expect((await tenant.secret.patch(production, { requires_review: true })).status).toBe(200);
    const refusals = [
      await editor.put(production, { version: 2 }),
      await editor.post(`/v2/projects/${project_id}/versions/2/publish`),
      await editor.post(`/v2/projects/${project_id}/versions`, { flow: calling(live, "v3") }),
    ];
    expect(refusals.map(({ status, body }) => [status, body.code])).toEqual(
      refusals.map(() => [409, "review_required"]),
    );
    const asked = { version: 2, connections: { [live]: test }, notes: "new label" };
    const { status, body: review } = await editor.post(`${production}/reviews`, asked);
    expect([status, review.state]).toEqual([201, "open"]);
    expect(review.difference).toMatchObject({
      current_version: 1,
      version: 2,
      nodes: { added: [], removed: [], changed: ["out-0"] },
      connections: [{ connection_id: live, before: live, after: test }],
      experiments: null,
    });
    expect((await editor.post(`${production}/reviews`, asked)).status).toBe(409);
    const decide = (who: TestClient, decision: string, reason = "") =>
      who.post(`${production}/reviews/${review.review_id}/decision`, { decision, reason });
    expect((await decide(editor, "approve")).status).toBe(403);
    expect((await decide(second, "withdraw")).status).toBe(403);
    expect((await decide(viewer, "approve")).status).toBe(403);
    const approved = await decide(second, "approve", "checked");
    expect(approved).toMatchObject({ status: 200, body: { state: "approved", reason: "checked" } });
    expect((await decide(second, "reject")).status).toBe(409);
    expect((await start(project_id)).body.outputs["out-0"]).toBe("v2 /r2/seen");
    const { body: history } = await viewer.get(`/v2/projects/${project_id}/promotions`, { query: { version: 2 } });
    expect(history.data[0]).toMatchObject({ review_id: review.review_id, notes: "new label" });
    const back = await editor.post(`${production}/rollback`, { notes: "bad" });
    expect(back).toMatchObject({ status: 200, body: { version: 1, connections: {} } });
  });

  it("cannot be approved by a key of the proposer, nor once the version was redrawn", async () => {
    const project_id = await projectWith("one", "two");
    const path = `${at(project_id, "staging")}/reviews`;
    const admin = await tenant.user("admin");
    const { body: key } = await admin.post("/v2/api-keys", { name: "mine", kind: "secret" });
    const { body: nested } = await checkedClient(tenant.target, key.key).post("/v2/api-keys", {
      name: "of mine",
      kind: "secret",
    });
    const { body: review } = await admin.post(path, { version: 2 });
    for (const value of [key.key, nested.key]) {
      const own = checkedClient(tenant.target, value);
      expect((await own.post(`${path}/${review.review_id}/decision`, { decision: "approve" })).status).toBe(403);
    }
    const draft = { ...echoFlow("two"), ui: { positions: { "in-0": [5, 5] } } };
    await editor.put(`/v2/projects/${project_id}/draft`, { flow: draft });
    await editor.post(`/v2/projects/${project_id}/versions`, { draft: true, publish: false });
    const late = await second.post(`${path}/${review.review_id}/decision`, { decision: "approve" });
    expect(late).toMatchObject({ status: 409, body: { code: "conflict" } });
    const withdrawn = await admin.post(`${path}/${review.review_id}/decision`, { decision: "withdraw" });
    expect(withdrawn.body.state).toBe("withdrawn");
    const { body: open } = await viewer.get(path, { query: { state: "open" } });
    expect(open.data).toEqual([]);
  });
});
