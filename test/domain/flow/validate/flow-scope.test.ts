import { describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../../../src/domain/flow/definition/definition.ts";
import { DEFAULT_FLOW_LIMITS } from "../../../../src/domain/flow/definition/limits.ts";
import { checkFlow } from "../../../../src/domain/flow/validate/validate.ts";
import { keyOfOutput, type OutputsOfOthers } from "../../../../src/domain/flow/validate/output-schemas.ts";
import type { FlowScope, ScopeValue } from "../../../../src/domain/flow/validate/scope-list.ts";
import { edges, flow, node } from "../../../support/flows.ts";

type Part = Pick<FlowDefinition, "nodes" | "edges">;

function scopeOf(part: Part, outputs: OutputsOfOthers = {}): FlowScope {
  const { scope } = checkFlow(flow(part), DEFAULT_FLOW_LIMITS, { scope: true, outputs });
  if (!scope) throw new Error("no scope");
  return scope;
}

const seenBy = (scope: FlowScope, path: string): readonly string[] =>
  scope.nodes.find(({ node_path }) => node_path === path)?.sees ?? [];

const valueOf = (scope: FlowScope, key: string): ScopeValue | undefined =>
  scope.values.find((value) => value.key === key);

/** The warnings about fields, as "path: message (hint)". */
function fieldsOf(part: Part, outputs: OutputsOfOthers = {}): string[] {
  return checkFlow(flow(part), DEFAULT_FLOW_LIMITS, { outputs })
    .problems.filter(({ code }) => code === "reads_unknown_field")
    .map(({ node_path, severity, message, hint }) => `${severity} ${node_path}: ${message} (${hint})`);
}

/** A flow in which this template or expression is to be checked. */
const reading = (template: string): Part => ({
  nodes: [
    node("in-0", "input"),
    node("http-0", "http", { url: "https://example.com/{{in-0}}" }),
    node("doc-0", "files"),
    node("tpl-0", "template", { template }),
    node("out-0", "output"),
  ],
  edges: edges("in-0 > http-0", "http-0 > tpl-0", "doc-0 > tpl-0", "tpl-0 > out-0"),
});

const deciding = (check: string): Part => ({
  ...reading(""),
  nodes: reading("").nodes.map((each) => (each.id === "tpl-0" ? node("tpl-0", "set", { values: { a: check } }) : each)),
});

const nested = (): Part => ({
  nodes: [
    node("in-0", "input"),
    node("doc-0", "files"),
    node("map-0", "map", {
      items: 'nodes["doc-0"].documents',
      flow: {
        nodes: [node("tpl-0", "template", { template: "{{item.filename}}" }), node("out-1", "output")],
        edges: edges("tpl-0 > out-1"),
      },
    }),
    node("tpl-0", "template", { template: "{{ map-0 | size }}" }),
    node("out-0", "output"),
  ],
  edges: edges("doc-0 > map-0", "map-0 > tpl-0", "tpl-0 > out-0"),
});

describe("the values that a node can read", () => {
  it("are the outputs of every node before it, the inputs and the run", () => {
    const scope = scopeOf(reading("{{ http-0.body }}"));
    expect(seenBy(scope, "in-0")).toEqual(["$inputs", "$run"]);
    expect(seenBy(scope, "tpl-0")).toEqual(["in-0", "http-0", "doc-0", "$inputs", "$run"]);
    expect(valueOf(scope, "http-0")).toMatchObject({
      kind: "node",
      node_path: "http-0",
      liquid: "http-0",
      cel: 'nodes["http-0"]',
      schema: { properties: { status: { type: "integer" } } },
    });
    expect(valueOf(scope, "$inputs")?.schema["properties"]).toMatchObject({ "in-0": { type: "string" } });
  });

  it("inside a map include the item with the schema of the list, and inner nodes before outer ones of the same ID", () => {
    const scope = scopeOf(nested());
    expect(seenBy(scope, "map-0/out-1")).toEqual([
      "map-0/tpl-0",
      "doc-0",
      "map-0/$item",
      "map-0/$index",
      "$inputs",
      "$run",
    ]);
    expect(seenBy(scope, "map-0")).toEqual(["doc-0", "$inputs", "$run"]);
    expect(valueOf(scope, "map-0/$item")).toMatchObject({
      kind: "item",
      node_path: "map-0",
      liquid: "item",
      schema: { properties: { filename: { type: "string" } } },
    });
  });

  it("inside a loop include the last value, also in the loop's own condition", () => {
    const inner = { nodes: [node("out-1", "output", { value: "{{ last }}" })], edges: [] };
    const scope = scopeOf({
      nodes: [node("loop-0", "loop", { while: "index < 2", flow: inner }), node("out-0", "output")],
      edges: edges("loop-0 > out-0"),
    });
    expect(seenBy(scope, "loop-0")).toEqual(["loop-0/$last", "loop-0/$index", "$inputs", "$run"]);
    expect(seenBy(scope, "loop-0/out-1")).toEqual(["loop-0/$last", "loop-0/$index", "$inputs", "$run"]);
    expect(seenBy(scope, "out-0")).toEqual(["loop-0", "$inputs", "$run"]);
  });

  it("are listed for an invalid flow too, with the edges that do not fit", () => {
    const part = reading("{{ unclosed");
    const scope = scopeOf({ ...part, edges: [...part.edges, ...edges("tpl-0:nowhere > out-0", "doc-0 > nobody")] });
    expect(seenBy(scope, "out-0")).toContain("tpl-0");
    expect(scope.edges.map(({ fits, problem }) => (fits ? "fits" : problem))).toEqual([
      ...part.edges.map(() => "fits"),
      "unknown_handle",
      "unknown_node",
    ]);
    expect(checkFlow(flow(part), DEFAULT_FLOW_LIMITS)).not.toHaveProperty("scope");
  });

  it("are written by node ID if the ID is also a reserved name", () => {
    const scope = scopeOf({
      nodes: [node("run", "input"), node("out-0", "output")],
      edges: edges("run > out-0"),
    });
    expect(valueOf(scope, "run")).toMatchObject({ kind: "node", liquid: 'nodes["run"]' });
    expect(valueOf(scope, "$run")).toMatchObject({ kind: "run", liquid: "run" });
  });
});

describe("the schema of a value that others determine", () => {
  const rows = {
    type: "object",
    properties: { rows: { type: "array", items: { $ref: "#/$defs/row" } } },
    $defs: { row: { type: "object", properties: { name: { type: "string" }, next: { $ref: "#/$defs/row" } } } },
  };
  const project_id = "0197f0a0-5e1f-7000-8000-000000000000";
  const outputs = {
    [keyOfOutput({ kind: "action", id: "db/list" })]: { ...rows, additionalProperties: true },
    [keyOfOutput({ kind: "project", id: project_id, version: -1 })]: {
      type: "object",
      properties: { "out-0": { type: "string" } },
      additionalProperties: false,
    },
  };
  const acting = (template: string, inner = "{{ item.name }}"): Part => ({
    nodes: [
      node("act-0", "action", { provider_id: "db", action_id: "list" }),
      node("sub-0", "subflow", { project_id }),
      node("map-0", "map", {
        items: 'nodes["act-0"].rows',
        flow: {
          nodes: [node("tpl-1", "template", { template: inner }), node("out-1", "output")],
          edges: edges("tpl-1 > out-1"),
        },
      }),
      node("tpl-0", "template", { template }),
      node("out-0", "output"),
    ],
    edges: edges("act-0 > map-0", "map-0 > tpl-0", "sub-0 > tpl-0", "tpl-0 > out-0"),
  });

  it("is the action's, the called flow's, and for a map the item's and the list of what the nested flow returns", () => {
    const scope = scopeOf(acting("x"), outputs);
    expect(valueOf(scope, "act-0")?.schema).toMatchObject(rows);
    expect(valueOf(scope, "sub-0")?.schema).toMatchObject({ properties: { "out-0": { type: "string" } } });
    expect(valueOf(scope, "map-0/$item")?.schema).toMatchObject({ $ref: "#/$defs/row", $defs: rows.$defs });
    expect(valueOf(scope, "map-0")?.schema).toEqual({ type: "array", items: { type: "string" } });
    expect(valueOf(scopeOf(acting("x")), "act-0")?.schema).toEqual({});
  });

  it("warns of fields that called flows do not return, and not of more fields of an action", () => {
    expect(fieldsOf(acting("{{ sub-0.out-1 }}{{ act-0.total }}", "{{ item.age }}"), outputs)).toEqual([
      'warning tpl-0: The value of sub-0 has no field "out-1" at this place (Did you mean "out-0"?)',
    ]);
    expect(fieldsOf(acting("{{ map-0[0].name }}", "{{ item.next.next.name.first_name }}"), outputs)).toEqual([
      'warning tpl-0: The value of map-0 has no field "name" at this place (null)',
      'warning map-0/tpl-1: The value of item has no field "first_name" at this place (null)',
    ]);
    expect(fieldsOf(acting("{{ sub-0.out-1 }}"))).toEqual([]);
  });

  it("of a loop is what the nested flow returns or the initial value, for `last` too", () => {
    const looping = (initial: string, outer?: string): Part => {
      const inner = {
        nodes: [node("set-1", "set", { values: { n: "1" } }), node("out-1", "output"), node("out-2", "output")],
        edges: edges("set-1 > out-1", "set-1 > out-2"),
      };
      const loop = node("loop-0", "loop", { while: "index < 2", initial, flow: inner });
      const around = { nodes: [loop, node("out-3", "output")], edges: edges("loop-0 > out-3") };
      const outside = node("loop-1", "loop", { while: "index < 2", initial: outer ?? "1", flow: around });
      return { nodes: [outside, node("out-0", "output")], edges: edges("loop-1 > out-0") };
    };
    const last = (initial: string) => valueOf(scopeOf(looping(initial)), "loop-1/loop-0/$last")?.schema["anyOf"];
    const iteration = { properties: { "out-1": {}, "out-2": {} }, additionalProperties: false };
    expect(last('"x"')).toMatchObject([iteration, { const: "x" }]);
    expect(last("9007199254740993")).toMatchObject([iteration, {}]);
    expect(last("1 + 1")).toMatchObject([iteration, {}]);
    // The initial value of the inner loop is the outer one's `last`, not its own.
    expect(last("last")).toMatchObject([iteration, iteration, {}, { const: 1 }]);
    expect(valueOf(scopeOf(looping("last")), "loop-1")?.schema["anyOf"]).toMatchObject([iteration, {}, { const: 1 }]);
  });

  it("is found in schemas that refer to themselves or branch at every level", () => {
    const level = (n: number) => ({
      anyOf: [{ $ref: `#/$defs/${n + 1}` }, { $ref: `#/$defs/${n + 1}` }, { $ref: "#/$defs/0" }],
    });
    const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [n, level(n)]));
    const schema = {
      $ref: "#/$defs/0",
      $defs: { ...$defs, 60: { type: "object", properties: { a: { $ref: "#/$defs/0" } } } },
    };
    const deep = { [keyOfOutput({ kind: "action", id: "db/list" })]: schema };
    expect(fieldsOf(acting(`{{ act-0${".a".repeat(50)} }}{{ act-0.b }}`), deep)).toEqual([
      'warning map-0: The value of act-0 has no field "rows" at this place (It has a)',
      'warning tpl-0: The value of act-0 has no field "b" at this place (Did you mean "a"?)',
    ]);
  });
});

describe("a reference to a field that a value cannot have", () => {
  it.each([
    [
      "{{ http-0.stauts }}",
      ['warning tpl-0: The value of http-0 has no field "stauts" at this place (Did you mean "status"?)'],
    ],
    [
      '{{ nodes["http-0"].header.x }}',
      ['warning tpl-0: The value of http-0 has no field "header" at this place (Did you mean "headers"?)'],
    ],
    ["{{ in-0.name }}", ['warning tpl-0: The value of in-0 has no field "name" at this place (null)']],
    [
      "{{ doc-0.documents.filename }}",
      ['warning tpl-0: The value of doc-0 has no field "filename" at this place (null)'],
    ],
    [
      "{{ run.usr_id }}",
      ['warning tpl-0: The value of run has no field "usr_id" at this place (Did you mean "user_id"?)'],
    ],
    ["{{ http-0.body.anything }} {{ http-0.headers.etag }}", []],
    ["{{ in-0.size }} {{ doc-0.documents.first.text }} {{ doc-0.documents[0].pages }}", []],
    ["{% for doc in doc-0.documents %}{{ doc.nothing }}{% endfor %}", []],
    ["{% assign http-0 = in-0 %}{{ http-0.nothing }}", []],
  ])("is a warning in the template %s", (template, warnings) => {
    expect(fieldsOf(reading(template))).toEqual(warnings);
  });

  it.each([
    [
      'nodes["http-0"].stauts == 200',
      ['warning tpl-0: The value of http-0 has no field "stauts" at this place (Did you mean "status"?)'],
    ],
    ["inputs.in0", ['warning tpl-0: The value of inputs has no field "in0" at this place (Did you mean "in-0"?)']],
    ['has(nodes["http-0"].stauts)', []],
    ['nodes["doc-0"].documents.map(run, run.filename)', []],
    ['nodes["doc-0"].documents[0].filename', []],
    ['nodes["http-0"].body.a[1].b', []],
  ])("is a warning in the expression %s", (check, warnings) => {
    expect(fieldsOf(deciding(check))).toEqual(warnings);
  });

  it("is a warning inside a map", () => {
    const part = nested();
    const text = JSON.stringify(part).replace("item.filename", "item | json }}{{ doc-0.txt");
    expect(fieldsOf(JSON.parse(text) as Part)).toEqual([
      'warning map-0/tpl-0: The value of doc-0 has no field "txt" at this place (Did you mean "text"?)',
    ]);
  });

  it("is not reported if the node may have another value: its error, or extra fields of a model's JSON", () => {
    const branching = {
      ...node("http-0", "http", { url: "https://example.com/{{in-0}}" }),
      on_error: "branch" as const,
    };
    const part = reading("{{ http-0.error.message }}");
    expect(fieldsOf({ ...part, nodes: part.nodes.map((each) => (each.id === "http-0" ? branching : each)) })).toEqual(
      [],
    );
    const schema = (more: object) => ({ type: "object", properties: { name: { type: "string" } }, ...more });
    const answering = (more: object): Part => ({
      nodes: [
        node("llm-0", "llm", { prompt: "x", schema: schema(more) }),
        node("out-0", "output", { value: "{{ llm-0.json.nam }}" }),
      ],
      edges: edges("llm-0 > out-0"),
    });
    expect(fieldsOf(answering({}))).toEqual([]);
    expect(fieldsOf(answering({ additionalProperties: false }))).toHaveLength(1);
  });
});
