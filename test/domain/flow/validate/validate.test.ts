import { describe, expect, it } from "vitest";
import { DEFAULT_FLOW_LIMITS } from "../../../../src/domain/flow/definition/limits.ts";
import { checkFlow } from "../../../../src/domain/flow/validate/validate.ts";
import { edges, flow, node } from "../../../support/flows.ts";

const limits = DEFAULT_FLOW_LIMITS;
const problemsOf = (input: unknown) => checkFlow(input, limits).problems;
const codesOf = (input: unknown) => problemsOf(input).map(({ code }) => code);
const find = (input: unknown, code: string) => problemsOf(input).find((problem) => problem.code === code);

describe("a valid flow", () => {
  it("has no problems", () => {
    expect(checkFlow(flow(), limits)).toMatchObject({ valid: true, problems: [] });
  });

  it("is returned with its definition and plan", () => {
    const checked = checkFlow(flow(), limits);
    expect(checked.valid && checked.definition).toEqual(flow());
    expect(checked.valid && checked.plan.nodes.map(({ id }) => id)).toEqual(["in-0", "out-0"]);
  });

  it("stays valid with warnings", () => {
    const input = flow({ nodes: [...flow().nodes, node("set-0", "set", { values: {} })] });
    expect(checkFlow(input, limits)).toMatchObject({
      valid: true,
      problems: [{ code: "unused_node", severity: "warning", node_id: "set-0", path: ["nodes", 2] }],
    });
  });
});

describe("the shape of the flow document", () => {
  it.each([null, undefined, 3, "text", [], true])("is reported as a problem, not thrown, if it is %j", (input) => {
    expect(checkFlow(input, limits)).toMatchObject({
      valid: false,
      problems: [{ code: expect.any(String) as string }],
    });
  });

  it("reports every missing field", () => {
    const paths = problemsOf({}).map(({ code, path }) => [code, path.join(".")]);
    expect(paths).toEqual([
      ["missing", "schema_version"],
      ["missing", "name"],
      ["missing", "nodes"],
      ["missing", "edges"],
    ]);
  });

  it("refuses unknown fields at any depth", () => {
    const input = {
      ...flow(),
      extra: 1,
      nodes: [node("in-0", "input", { colour: "red" }), { ...node("out-0", "output"), x: 1 }],
      edges: [{ source: "in-0", target: "out-0", label: "" }],
      settings: { speed: 9 },
    };
    const unknown = problemsOf(input).filter(({ code }) => code === "unknown_member");
    expect(unknown.map(({ path }) => path.join(".")).toSorted()).toEqual([
      "edges.0.label",
      "extra",
      "nodes.0.config.colour",
      "nodes.1.x",
      "settings.speed",
    ]);
  });

  it("reports every problem at the same time", () => {
    const input = flow({
      nodes: [node("in-0", "input"), node("in-0", "input"), node("x", "oracle"), node("g", "guard", { check: "1 +" })],
      edges: edges("in-0 > nowhere", "in-0:left > g", "g > in-0"),
    });
    expect(codesOf(input)).toEqual(
      expect.arrayContaining([
        "duplicate_id",
        "unknown_kind",
        "missing",
        "unknown_node",
        "unknown_handle",
        "edge_into_input",
      ]),
    );
  });
});

describe("nodes", () => {
  it.each(["", "a b", "ä", "a".repeat(65), "__proto__", "constructor", "prototype", "a.b"])(
    "refuse the id %j",
    (id) => {
      expect(
        find(flow({ nodes: [node(id, "input"), node("out-0", "output", { value: "x" })], edges: [] }), "bad_id"),
      ).toMatchObject({
        path: ["nodes", 0, "id"],
        node_id: null,
      });
    },
  );

  it("accept any other ID", () => {
    expect(
      codesOf(flow({ nodes: [node("-_A9", "input"), node("toString", "output")], edges: edges("-_A9 > toString") })),
    ).toEqual([]);
  });

  it("warn if the ID is a reserved name in expressions or in a run's body", () => {
    const input = flow({
      nodes: [node("run", "input"), node("stream", "input"), node("out-0", "output")],
      edges: edges("run > out-0", "stream > out-0"),
    });
    expect(problemsOf(input).map(({ code, severity, node_id }) => [code, severity, node_id])).toEqual([
      ["reserved_id", "warning", "run"],
      ["reserved_id", "warning", "stream"],
    ]);
  });

  it("of an unknown type are a problem that lists the types", () => {
    const problem = find(flow({ nodes: [node("x", "teleport"), ...flow().nodes] }), "unknown_kind");
    expect(problem).toMatchObject({
      node_id: "x",
      path: ["nodes", 0, "type"],
      hint: expect.stringContaining("template") as string,
    });
  });

  it.each([
    ["retry.max_attempts", { retry: { max_attempts: 0 } }],
    ["retry.backoff", { retry: { backoff: 0.5 } }],
    ["retry.initial_interval_ms", { retry: { initial_interval_ms: -1 } }],
    ["timeout_ms", { timeout_ms: 0 }],
  ])("have limits for %s", (path, more) => {
    const input = flow({
      nodes: [node("in-0", "input"), node("h", "http", { url: "https://a.example" }, more), node("out-0", "output")],
      edges: edges("in-0 > h > out-0"),
    });
    expect(find(input, "out_of_range")?.path.join(".")).toBe(`nodes.1.${path}`);
  });

  it.each([
    ["timeout_ms", node("x", "set", { values: { a: "1" } }, { timeout_ms: 1000 })],
    ["timeout_ms", node("x", "template", { template: "{% for i in in-0 %}{{i}}{% endfor %}" }, { timeout_ms: 1000 })],
    ["timeout_ms", node("x", "approval", { message: "?" }, { timeout_ms: 1000 })],
    ["retry", node("x", "delay", { seconds: 1 }, { retry: { max_attempts: 3 } })],
    ["retry", node("x", "map", { items: "[1]", flow: flow() }, { retry: { max_attempts: 3 } })],
    ["default_output", node("x", "delay", { seconds: 1 }, { default_output: 1 })],
  ])("warn about %s if it has no effect", (setting, ignored) => {
    const handle = ignored.type === "approval" ? "x:approve" : "x";
    const input = flow({
      nodes: [node("in-0", "input"), ignored, node("out-0", "output")],
      edges: [...edges("in-0 > x"), ...edges(`${handle} > out-0`)],
    });
    expect(find(input, "setting_ignored")).toMatchObject({ severity: "warning", path: ["nodes", 1, setting] });
  });

  it("warn about a missing default output and an unconnected error branch", () => {
    const nodes = [
      node("in-0", "input"),
      node("a", "http", { url: "https://a.example" }, { on_error: "continue" }),
      node("b", "http", { url: "https://a.example" }, { on_error: "branch" }),
      node("out-0", "output"),
    ];
    expect(codesOf(flow({ nodes, edges: edges("in-0 > a > b > out-0") }))).toEqual([
      "missing_default_output",
      "error_branch_unconnected",
    ]);
  });

  it.each([
    [
      "condition",
      {
        cases: [
          { id: "a", when: "true" },
          { id: "a", when: "true" },
        ],
      },
      "cases.1.id",
    ],
    ["delay", {}, ""],
    ["delay", { seconds: 1, until: "'x'" }, ""],
    ["http", { url: "ftp://a.example" }, "url"],
    ["http", { url: "file:///{{in-0}}" }, "url"],
    ["http", { url: "https://a.example", body: "x" }, "body"],
    ["http", { url: "https://a.example", headers: { "a b": "c" } }, "headers.a b"],
    ["http", { url: "https://a.example", expect_status: "7xx" }, "expect_status"],
    ["code", { source: "1 + 1" }, "source"],
    ["approval", { message: "", on_timeout: "later" }, "on_timeout"],
    ["approval", { message: "", actions: [{ id: "timeout" }] }, "actions.0.id"],
    ["loop", { while: "true", max_iterations: 10_001, flow: flow() }, "max_iterations"],
    ["subflow", { project_id: "p", version: 0 }, "version"],
    ["subflow", { project_id: "p", inputs: { "a b": "1" } }, "inputs.a b"],
  ])("of type %s are refused with %j", (kind, config, path) => {
    const input = flow({
      nodes: [node("in-0", "input"), node("n", kind, config), node("out-0", "output", { value: "x" })],
      edges: edges("in-0 > n"),
    });
    const problem = problemsOf(input).find(({ severity, node_id }) => severity === "error" && node_id === "n");
    expect(problem?.path).toEqual([
      "nodes",
      1,
      "config",
      ...path
        .split(".")
        .filter(Boolean)
        .map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
    ]);
  });
});

describe("edges", () => {
  const branch = [
    node("in-0", "input"),
    node("if-0", "condition", { cases: [{ id: "a", when: "true" }] }),
    node("out-0", "output"),
  ];

  it("leave only by handles that their source has", () => {
    expect(
      codesOf(flow({ nodes: branch, edges: edges("in-0 > if-0", "if-0:case:a > out-0", "if-0:else > out-0") })),
    ).toEqual([]);
    expect(find(flow({ nodes: branch, edges: edges("in-0 > if-0 > out-0") }), "unknown_handle")).toMatchObject({
      path: ["edges", 1, "source_handle"],
      hint: "Its handles are case:a, else",
    });
  });

  it("leave by error only if failures branch", () => {
    expect(
      find(flow({ edges: edges("in-0 > out-0", "in-0:error > out-0") }), "error_edge_without_branch")?.hint,
    ).toContain("branch");
  });

  it("that leave by timeout are dead unless the approval branches on a timeout", () => {
    const nodes = (config: object) => [
      node("in-0", "input"),
      node("ok", "approval", { message: "?", ...config }),
      node("out-0", "output"),
    ];
    const all = edges("in-0 > ok", "ok:approve > out-0", "ok:timeout > out-0");
    expect(codesOf(flow({ nodes: nodes({}), edges: all }))).toEqual(["dead_handle"]);
    expect(codesOf(flow({ nodes: nodes({ on_timeout: "branch", expires_in_seconds: 5 }), edges: all }))).toEqual([]);
  });

  it("must be unique", () => {
    expect(find(flow({ edges: edges("in-0 > out-0", "in-0:out > out-0") }), "duplicate_edge")?.path).toEqual([
      "edges",
      1,
    ]);
  });

  it("must not lead back to their source", () => {
    expect(codesOf(flow({ edges: edges("in-0 > out-0", "out-0 > out-0") }))).toEqual(["self_edge"]);
  });

  it("must not lead to a text input, but may lead to a url or files node", () => {
    expect(codesOf(flow({ edges: edges("in-0 > out-0", "out-0 > in-0") }))).toContain("edge_into_input");
    const nodes = [node("in-0", "input"), node("url-0", "url"), node("doc-0", "files"), node("out-0", "output")];
    expect(codesOf(flow({ nodes, edges: edges("in-0 > url-0 > doc-0 > out-0") }))).toEqual([]);
  });

  it("must not form a cycle; each cycle is reported in the direction of its edges", () => {
    const nodes = ["a", "b", "c", "d", "e"].map((id) => node(id, "set", { values: {} }));
    const input = flow({
      nodes: [...flow().nodes, ...nodes],
      edges: edges("in-0 > a > b > c > a", "d > e > d", "c > out-0"),
    });
    const cycles = problemsOf(input).filter(({ code }) => code === "cycle");
    expect(cycles.map(({ message }) => message.split(": ")[1]?.split(" → ").length)).toEqual([4, 3]);
    expect(`${cycles[0]?.message.split(": ")[1]} → b → c → a`).toContain("a → b → c → a");
  });
});

describe("outputs", () => {
  it("are required", () => {
    expect(codesOf(flow({ nodes: [node("in-0", "input")], edges: [] }))).toContain("no_output");
  });

  it("have a source or a value", () => {
    expect(find(flow({ edges: [] }), "output_without_source")?.node_id).toBe("out-0");
    expect(codesOf(flow({ nodes: [node("out-0", "output", { value: "hi" })], edges: [] }))).toEqual([]);
  });
});

describe("expressions", () => {
  const reading = (config: Record<string, unknown>, kind = "set") =>
    flow({
      nodes: [node("in-0", "input"), node("string-0", "string"), node("n", kind, config), node("out-0", "output")],
      edges: edges("in-0 > n > out-0", "string-0 > out-0"),
    });

  it("that do not parse are reported with their location", () => {
    expect(find(reading({ values: { a: "1 +" } }), "invalid_expression")).toMatchObject({
      node_id: "n",
      path: ["nodes", 2, "config", "values", "a"],
    });
    expect(find(reading({ template: "{% if %}" }, "template"), "invalid_expression")?.path).toEqual([
      "nodes",
      2,
      "config",
      "template",
    ]);
  });

  it.each([
    ['Answer as {{"a": 1}}', "invalid_expression"],
    ["Say {{city}} where you mean one", "reads_unknown_node"],
  ])("that contain literal double braces, as in %s, get a hint about raw", (template, code) => {
    const found = find(reading({ template }, "template"), code);
    expect(found?.hint).toContain("{% raw %}");
    const raw = `{% raw %}${template}{% endraw %}`;
    expect(find(reading({ template: raw }, "template"), code)).toBeUndefined();
    expect(find(reading({ template: "{% if %}" }, "template"), "invalid_expression")?.hint ?? null).toBeNull();
  });

  it("in skip_if are checked too", () => {
    const input = flow({ nodes: [node("in-0", "input"), node("out-0", "output", {}, { skip_if: ")" })] });
    expect(find(input, "invalid_expression")?.path).toEqual(["nodes", 1, "skip_if"]);
  });

  it("that read a missing node are reported with the nearest name", () => {
    expect(find(reading({ values: { a: 'nodes["in_0"]' } }), "reads_unknown_node")?.hint).toBe('Did you mean "in-0"?');
    expect(find(reading({ template: "{{ in_0 }}" }, "template"), "reads_unknown_node")?.path).toEqual([
      "nodes",
      2,
      "config",
      "template",
    ]);
  });

  it("that read a node that may not have finished are reported", () => {
    expect(find(reading({ values: { a: 'nodes["string-0"]' } }), "reads_later_node")?.hint).toContain(
      'from "string-0"',
    );
    expect(codesOf(reading({ values: { a: 'nodes["n"]' } }))).toContain("reads_later_node");
    expect(codesOf(reading({ values: { a: 'nodes["in-0"]' } }))).toEqual([]);
  });

  it("warn about an integer that no JSON value equals, unless a side is converted", () => {
    const long = "nodes['in-0'] == 9007199254740993";
    expect(find(reading({ values: { a: long } }), "long_integer")).toMatchObject({
      severity: "warning",
      path: ["nodes", 2, "config", "values", "a"],
      hint: expect.stringContaining('"9007199254740993"'),
    });
    for (const fine of [
      "int(nodes['in-0']) == 9007199254740993",
      "string(9007199254740993)",
      "nodes['in-0'] == 9007199254740991",
    ])
      expect(codesOf(reading({ values: { a: fine } }))).toEqual([]);
    const template = find(reading({ template: "{{ in-0 }} {{ 9007199254740993 }}" }, "template"), "invalid_expression");
    expect(template?.message).toContain("9007199254740993 would lose digits");
  });

  it("have a maximum length", () => {
    expect(codesOf(reading({ values: { a: `"${"x".repeat(10_000)}"` } }))).toContain("expression_too_long");
    expect(codesOf(reading({ template: "x".repeat(200_001) }, "template"))).toContain("expression_too_long");
  });

  it("are found in every string of a body", () => {
    const input = reading(
      { method: "POST", url: "https://a.example", body: { list: [{ deep: "{{ nope }}" }] } },
      "http",
    );
    expect(find(input, "reads_unknown_node")?.path).toEqual(["nodes", 2, "config", "body", "list", 0, "deep"]);
  });

  it("that read an input through `inputs` need no edge from it", () => {
    const nodes = [node("in-0", "input"), node("out-0", "output", { value: '{{ inputs["in-0"] }}' })];
    expect(codesOf(flow({ nodes, edges: [] }))).toEqual([]);
  });
});

describe("nested flows", () => {
  const around = (inner: object, over: object = {}) =>
    flow({
      nodes: [
        node("in-0", "input"),
        node("string-0", "string"),
        node("map-0", "map", { items: "[1]", flow: inner, ...over }),
        node("out-0", "output"),
      ],
      edges: edges("in-0 > map-0 > out-0", "string-0 > out-0"),
    });
  const inner = (expression: string) => ({
    nodes: [node("set-0", "set", { values: { a: expression } }), node("out-0", "output")],
    edges: edges("set-0 > out-0"),
  });

  it("are required", () => {
    expect(problemsOf(around(undefined as unknown as object)).map(({ code, path }) => [code, path])).toEqual([
      ["missing", ["nodes", 2, "config", "flow"]],
    ]);
  });

  it.each([[3], [{}], [{ nodes: [] }], [null]])("consist of nodes and edges, not %j", (inside) => {
    expect(codesOf(around(inside as object))).toContain("wrong_type");
  });

  it("are checked by the same rules, with their own path", () => {
    const problem = find(around({ nodes: [node("x", "oracle")], edges: [] }), "unknown_kind");
    expect(problem?.path).toEqual(["nodes", 2, "config", "flow", "nodes", 0, "type"]);
    expect(codesOf(around({ nodes: [], edges: [], ui: {} }))).toEqual(
      expect.arrayContaining(["no_output", "unknown_member"]),
    );
  });

  it("report each problem once, with the enclosing nodes", () => {
    const faulty = inner("1 +");
    const loop = node("loop-0", "loop", { while: "true", flow: faulty });
    const problems = problemsOf(
      around({ nodes: [loop, node("out-0", "output")], edges: edges("loop-0 > out-0") }, { items: "1 +" }),
    );
    expect(problems.map(({ code, node_id, node_path }) => [code, node_id, node_path])).toEqual([
      ["invalid_expression", "map-0", "map-0"],
      ["invalid_expression", "set-0", "map-0/loop-0/set-0"],
    ]);
  });

  it("can read item, their own nodes and nodes that finished before the map", () => {
    expect(codesOf(around(inner('[item, index, nodes["in-0"]]')))).toEqual([]);
    expect(codesOf(around(inner('nodes["string-0"]')))).toEqual(["reads_later_node"]);
    expect(codesOf(around(inner('nodes["map-0"]')))).toEqual(["reads_later_node"]);
    expect(codesOf(around(inner('nodes["nope"]')))).toEqual(["reads_unknown_node"]);
  });

  it("read their own node rather than an outer one with the same ID", () => {
    const shadowing = {
      nodes: [
        node("string-0", "set", { values: {} }),
        node("set-0", "set", { values: { a: 'nodes["string-0"]' } }),
        node("out-0", "output"),
      ],
      edges: edges("string-0 > set-0 > out-0"),
    };
    expect(codesOf(around(shadowing))).toEqual([]);
  });

  it("cannot be read from outside", () => {
    const input = around(inner("1"));
    expect(
      codesOf({
        ...input,
        nodes: [...input.nodes, node("after", "guard", { check: 'nodes["set-0"].a == 1', message: "" })],
        edges: [...input.edges, ...edges("map-0 > after")],
      }),
    ).toContain("reads_unknown_node");
  });

  it("have no inputs", () => {
    expect(
      find(
        around({ nodes: [node("in-9", "input"), node("out-0", "output")], edges: edges("in-9 > out-0") }),
        "kind_not_allowed",
      )?.node_id,
    ).toBe("in-9");
  });

  it("can be at most five levels deep", () => {
    const nest = (depth: number): ReturnType<typeof flow> =>
      flow({
        nodes: [
          node("map-0", "map", {
            items: "[]",
            flow:
              depth === 1
                ? { nodes: [node("out-0", "output", { value: "x" })], edges: [] }
                : { nodes: nest(depth - 1).nodes, edges: nest(depth - 1).edges },
          }),
          node("out-0", "output"),
        ],
        edges: edges("map-0 > out-0"),
      });
    expect(codesOf(nest(5))).toEqual([]);
    expect(codesOf(nest(6))).toContain("nesting_too_deep");
  });
});

describe("forms", () => {
  const asking = (form: unknown) =>
    flow({
      nodes: [node("in-0", "input"), node("ok", "approval", { message: "?", form }), node("out-0", "output")],
      edges: edges("in-0 > ok", "ok:approve > out-0"),
    });

  it("must be JSON Schemas", () => {
    expect(codesOf(asking({ type: "object", properties: { a: { type: "string", pattern: "^[a-z]+$" } } }))).toEqual([]);
    expect(codesOf(asking({ type: "strin" }))).toEqual(["invalid_form"]);
  });

  it.each([
    ["look-ahead, which RE2 has not", { pattern: "(?=a)" }],
    ["references in a circle", { $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }],
    ["references to elsewhere", { $ref: "https://example.com/schema.json" }],
    ["another draft", { $schema: "http://json-schema.org/draft-07/schema#" }],
    ["asynchrony", { $async: true }],
  ])("must not use %s", (_, form) => {
    expect(find(asking(form), "invalid_form")?.path).toEqual(["nodes", 1, "config", "form"]);
  });
});

describe("settings and examples", () => {
  it("must have redaction paths that can be parsed", () => {
    expect(find(flow({ settings: { redact: ["$.inputs.in-0", "inputs"] } }), "invalid_redact_path")?.path).toEqual([
      "settings",
      "redact",
      1,
    ]);
  });

  it("must not allow a run longer than the installation's limit", () => {
    expect(find(flow({ settings: { timeout_seconds: 2_592_001 } }), "out_of_range")?.path).toEqual([
      "settings",
      "timeout_seconds",
    ]);
  });

  it("warn about examples that a run would refuse or ignore", () => {
    const input = flow({ examples: [{ name: "a", inputs: { "in-0": 3, other: 1 } }] });
    expect(problemsOf(input).map(({ code, severity, path }) => [code, severity, path.join(".")])).toEqual([
      ["invalid_example", "warning", "examples.0.inputs.in-0"],
      ["invalid_example", "warning", "examples.0.inputs.other"],
    ]);
  });
});
