import { beforeAll, describe, expect, it } from "vitest";
import type { TestClient } from "../../support/client.ts";
import { edges, flow as flowOf, node } from "../../support/flows.ts";
import { echoFlow } from "../echo-flow.ts";
import { checkedClient } from "../http/conformance.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let editor: TestClient;
beforeAll(async () => {
  tenant = await openTenant();
  editor = await tenant.user("editor");
});

const inputs = { "in-0": "x" };

async function save(flow: unknown, project: string): Promise<void> {
  expect((await tenant.secret.put(`/v2/projects/${project}/draft`, { flow })).status).toBeLessThan(300);
}

const start = (who: TestClient, more: { readonly project_id: string; readonly [field: string]: unknown }) =>
  who.post("/v2/runs", { draft: true, inputs, mode: "sync", ...more });

describe("a partial run of a draft", () => {
  /** A join with a guard on one of its branches and a guard after it; both guards fail whenever they are executed. */
  const joining = flowOf({
    nodes: [
      node("in-0", "input"),
      node("tpl-0", "template", { template: "left {{in-0}}" }),
      node("guard-0", "guard", { check: "false", message: "It was executed" }),
      node("tpl-1", "template", { template: "{{tpl-0}} and {{guard-0}}" }),
      node("guard-1", "guard", { check: "false", message: "It was executed too" }),
      node("out-0", "output"),
    ],
    edges: edges("in-0 > tpl-0 > tpl-1", "in-0 > guard-0 > tpl-1", "tpl-1 > guard-1 > out-0"),
  });
  let project: string;
  beforeAll(async () => {
    project = await tenant.deploy(echoFlow() as never);
    await save(joining, project);
  });

  const part = (more: object, given: object = inputs) => start(editor, { project_id: project, inputs: given, ...more });

  /** The result of each node: its value, its state, or that it was pinned. */
  async function nodesOf(run_id: string): Promise<Record<string, unknown>> {
    const { body } = await editor.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } });
    const seen = (each: { pinned: boolean; reused: boolean; state: string; output: unknown }) =>
      each.pinned ? ["pinned", each.output] : each.state === "COMPLETED" ? each.output : each.state;
    expect(body.nodes.filter(({ reused }: { reused: boolean }) => reused)).toEqual([]);
    return Object.fromEntries(body.nodes.map((each: never) => [(each as { path: string }).path, seen(each)]));
  }

  it("executes only what the node needs, and no pinned nodes", async () => {
    const { body } = await part({ until: "tpl-1", pinned: { "guard-0": "right" } });
    expect([body.state, body.run_type]).toEqual(["COMPLETED", "draft"]);
    expect(await nodesOf(body.run_id)).toEqual({
      "in-0": "x",
      "tpl-0": "left x",
      "guard-0": ["pinned", "right"],
      "tpl-1": "left x and right",
      "guard-1": "SKIPPED",
      "out-0": "SKIPPED",
    });
    // A second partial run loses no branch of the join.
    const again = await part({ until: "tpl-1", pinned: { "guard-0": "right" } });
    expect((await nodesOf(again.body.run_id))["tpl-1"]).toBe("left x and right");
  });

  it("requires no inputs that only pinned nodes use", async () => {
    const pinned = { "tpl-0": "L", "guard-0": { deep: [1] } };
    const { body } = await part({ until: "tpl-1", pinned }, {});
    expect(await nodesOf(body.run_id)).toMatchObject({ "in-0": "SKIPPED", "tpl-1": 'L and {"deep":[1]}' });
    const missing = await part({ until: "tpl-1", pinned: { "guard-0": 1 } }, {});
    expect(missing.body.detail).toMatchObject([{ loc: ["body", "inputs", "in-0"], type: "missing" }]);
    const given = await part({ until: "tpl-0", pinned: { "in-0": "p" } }, {});
    expect(await nodesOf(given.body.run_id)).toMatchObject({ "in-0": ["pinned", "p"], "tpl-0": "left p" });
  });

  it.each(["{{in-0}} past {{tpl-0}}", '{% assign id = "in-0" %}{{nodes[id]}} past {{tpl-0}}'])(
    "executes a node that %s reads past a pinned one",
    async (template) => {
      const other = await tenant.deploy(echoFlow() as never);
      const reading = flowOf({
        nodes: [
          node("in-0", "input"),
          node("tpl-0", "template", { template: "{{in-0}}" }),
          node("tpl-1", "template", { template }),
          node("out-0", "output"),
        ],
        edges: edges("in-0 > tpl-0 > tpl-1 > out-0"),
      });
      await save(reading, other);
      const { body } = await start(editor, { project_id: other, until: "tpl-1", pinned: { "tpl-0": "P" } });
      expect(await nodesOf(body.run_id)).toMatchObject({ "tpl-0": ["pinned", "P"], "tpl-1": "x past P" });
    },
  );

  it("can also pin values for the whole flow, and expressions read a pinned input as such", async () => {
    const { body } = await part({ pinned: { "guard-0": "r", "guard-1": "end" } });
    expect([body.state, body.outputs]).toEqual(["COMPLETED", { "out-0": "end" }]);
    const other = await tenant.deploy(echoFlow() as never);
    await save(echoFlow('{{ inputs["in-0"] }}'), other);
    const read = await start(editor, { project_id: other, inputs: {}, pinned: { "in-0": "p" } });
    expect(read.body.outputs).toEqual({ "out-0": "p" });
  });

  it("follows the branch that a pinned value selects", async () => {
    const choosing = flowOf({
      nodes: [
        node("in-0", "input"),
        node("if-0", "condition", { cases: [{ id: "a", when: "false" }] }),
        node("yes", "template", { template: "yes" }),
        node("no", "template", { template: "no" }),
        node("both", "template", { template: "{{yes}}{{no}}" }),
        node("out-0", "output"),
      ],
      edges: edges("in-0 > if-0", "if-0:case:a > yes", "if-0:else > no", "yes > both", "no > both", "both > out-0"),
    });
    const other = await tenant.deploy(echoFlow() as never);
    await save(choosing, other);
    const chosen = (value: unknown) => start(editor, { project_id: other, pinned: { "if-0": value } });
    expect((await chosen({ matched: "a" })).body.outputs).toEqual({ "out-0": "yes" });
    // A node that is not needed, and so chooses nothing, takes no pinned node away.
    const { body: run } = await start(editor, { project_id: other, until: "both", pinned: { yes: "Y", no: "N" } });
    expect(await nodesOf(run.run_id)).toMatchObject({ "if-0": "SKIPPED", both: "YN" });
    for (const wrong of [{ matched: "b" }, "a", null])
      expect((await chosen(wrong)).body.detail).toMatchObject([
        { loc: ["body", "pinned", "if-0"], msg: "The value does not say which branch the node has chosen" },
      ]);
  });

  it("up to a node inside a map executes the whole map with all its iterations", async () => {
    const inner = {
      nodes: [node("tpl-1", "template", { template: "{{item}}!" }), node("out-1", "output")],
      edges: edges("tpl-1 > out-1"),
    };
    const mapping = flowOf({
      nodes: [
        node("in-0", "input"),
        node("map-0", "map", { items: 'nodes["in-0"].split(",")', flow: inner }),
        node("guard-0", "guard", { check: "false", message: "It was executed" }),
        node("out-0", "output"),
      ],
      edges: edges("in-0 > map-0 > guard-0 > out-0"),
    });
    const other = await tenant.deploy(echoFlow() as never);
    await save(mapping, other);
    const { body } = await start(editor, { project_id: other, until: "map-0/tpl-1", inputs: { "in-0": "a,b" } });
    expect(body.state).toBe("COMPLETED");
    expect(await nodesOf(body.run_id)).toMatchObject({
      "map-0": ["a!", "b!"],
      "map-0[1]/tpl-1": "b!",
      "guard-0": "SKIPPED",
    });
    for (const [more, loc] of [
      [{ until: "map-0/nobody" }, ["body", "until"]],
      [{ until: "map-0/tpl-1/x" }, ["body", "until"]],
      [{ until: "map-0/tpl-1", pinned: { "map-0": [] } }, ["body", "pinned", "map-0"]],
      [{ pinned: { "tpl-1": "x" } }, ["body", "pinned", "tpl-1"]],
    ] as const)
      expect((await start(editor, { project_id: other, ...more })).body.detail).toMatchObject([{ loc }]);
  });

  it("accepts the source of a pinned value only if the caller may see that run", async () => {
    const stranger = await openTenant();
    const { body: theirs } = await stranger.secret.post("/v2/runs", {
      project_id: await stranger.deploy(echoFlow() as never),
      inputs,
    });
    const other = await tenant.deploy(echoFlow() as never);
    const { body: elsewhere } = await tenant.secret.post("/v2/runs", { project_id: other, inputs });
    const narrow = { name: "one project", kind: "secret", projects: [project] };
    const { body: key } = await tenant.secret.post("/v2/api-keys", narrow);
    const limited = checkedClient(tenant.target, key.key);
    const pinned = { "guard-0": "r", "guard-1": "end" };
    const from = (who: TestClient, pinned_from: object) => start(who, { project_id: project, pinned, pinned_from });
    expect((await from(editor, { "guard-0": elsewhere.run_id, "guard-1": elsewhere.run_id })).status).toBe(201);
    expect((await from(limited, { "guard-0": elsewhere.run_id })).body.code).toBe("not_found");
    expect((await from(limited, {})).status).toBe(201);
    for (const run_id of [theirs.run_id, "0197f0a0-0000-7000-8000-000000000000"])
      expect(await from(editor, { "guard-0": run_id })).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await from(editor, { "in-0": elsewhere.run_id })).body.detail).toMatchObject([
      { loc: ["body", "pinned_from", "in-0"] },
    ]);
  });

  it("accepts only nodes of the draft's top level, and only drafts", async () => {
    for (const [more, loc] of [
      [{ until: "nobody" }, ["body", "until"]],
      [{ pinned: { nobody: 1 } }, ["body", "pinned", "nobody"]],
      [{ until: "tpl-0", pinned: { "tpl-0": 1 } }, ["body", "pinned", "tpl-0"]],
      [{ draft: false, until: "tpl-0" }, ["body", "draft"]],
      [{ draft: false, pinned: { "tpl-0": 1 } }, ["body", "draft"]],
    ] as const)
      expect((await part(more)).body.detail).toMatchObject([{ loc }]);
    expect((await part({ until: "tpl-0" })).body.state).toBe("COMPLETED");
  });
});
