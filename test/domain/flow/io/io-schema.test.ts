import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import type { FlowDefinition } from "../../../../src/domain/flow/definition/definition.ts";
import { presentFlowIo, toMcpTool, toOpenApi } from "../../../../src/domain/flow/io/io-formats.ts";
import { describeFlow } from "../../../../src/domain/flow/io/io-schema.ts";
import type { JsonObject } from "../../../../src/domain/json.ts";
import { edges, flow, node } from "../../../support/flows.ts";

const identity = { project_id: "p-1", name: "Test flow", version: 3, content_hash: "abc" };
const address = { base_url: "https://millrace.example", org_id: "o-1" };
const describing = (definition: FlowDefinition) => describeFlow(definition, identity, { max_input_bytes: 1000 });

function validator(schema: JsonObject) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  return ajv.compile(schema);
}

const inputs = [
  node("in-0", "input", { description: "Ask", max_length: 5 }, { name: "Question" }),
  node("string-0", "string", { default: "d" }),
  node("url-0", "url", { required: false }),
  node("doc-0", "files", { accept: ["application/pdf"] }),
];

describe("the inputs' schema", () => {
  const { inputs: schema } = describing(
    flow({ nodes: [...inputs, node("out-0", "output")], edges: edges("in-0 > out-0") }),
  );

  it("has a property for each input node, with what the node requires", () => {
    expect(schema).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        "in-0": {
          title: "Question",
          type: "string",
          description: "Ask",
          maxLength: 5,
          "x-max-bytes": 1000,
          "x-node-type": "input",
        },
        "string-0": { type: "string", default: "d", "x-max-bytes": 1000, "x-node-type": "string" },
        "url-0": expect.objectContaining({ type: "string", format: "uri", "x-node-type": "url" }) as unknown,
        "doc-0": expect.objectContaining({
          "x-upload": true,
          "x-accept": ["application/pdf"],
          "x-node-type": "files",
        }) as unknown,
      },
      required: ["in-0"],
      additionalProperties: true,
    });
  });

  it("accepts the same inputs as a run", () => {
    const validate = validator(schema);
    expect(validate({ "in-0": "Why?", "url-0": "https://example.com/", user_id: "u-1", other: 1 })).toBe(true);
    expect(validate({})).toBe(false);
    expect(validate({ "in-0": "too long" })).toBe(false);
    expect(validate({ "in-0": "a", "url-0": "ftp://example.com/" })).toBe(false);
  });
});

describe("the outputs' schema", () => {
  const outputs =
    (...nodes: ReturnType<typeof node>[]) =>
    (path: string) =>
      (
        describing(flow({ nodes: [node("in-0", "input"), ...nodes, node("out-0", "output")], edges: edges(path) }))
          .outputs["properties"] as JsonObject
      )["out-0"];

  it("has the type of an output's only source", () => {
    expect(outputs(node("set-0", "set", { values: { a: "1" } }))("in-0 > set-0 > out-0")).toEqual({
      type: "object",
      properties: { a: {} },
      required: ["a"],
    });
    expect(outputs()("in-0 > out-0")).toEqual({ type: "string" });
  });

  it("allows any type of the branches that meet, and anything if one of them is unknown", () => {
    const delay = node("delay-0", "delay", { seconds: 1 });
    const branches = (path: string) =>
      describing(
        flow({
          nodes: [
            node("in-0", "input"),
            delay,
            node("code-0", "code", { source: "function main() {}" }),
            node("out-0", "output"),
          ],
          edges: edges("in-0 > out-0", `in-0 > ${path} > out-0`),
        }),
      );
    expect(branches("delay-0").outputs["properties"]).toEqual({
      "out-0": { anyOf: [{ type: "string" }, { type: "string", format: "date-time" }] },
    });
    expect(branches("code-0").outputs["properties"]).toEqual({ "out-0": {} });
  });

  it("is text if the output has a template, and includes default outputs", () => {
    const value = flow({ nodes: [node("out-0", "output", { value: "x" }, { name: "Answer" })], edges: [] });
    expect(describing(value).outputs["properties"]).toEqual({ "out-0": { title: "Answer", type: "string" } });
    const guard = node(
      "guard-0",
      "guard",
      { check: "true", message: "" },
      { on_error: "continue", default_output: "no" },
    );
    expect(outputs(guard)("in-0 > guard-0 > out-0")).toEqual({ anyOf: [{ const: true }, { const: "no" }] });
  });

  describe("of an output that a run may not reach", () => {
    const text = { type: "string" };
    const textOrNull = { anyOf: [text, { type: "null" }] };
    const choice = node("if-0", "condition", { cases: [{ id: "a", when: "true" }] });
    const tpl = (more: Parameters<typeof node>[3] = {}) => node("tpl-0", "template", { template: "x" }, more);
    const other = node("tpl-1", "template", { template: "y" });

    it.each([
      ["is null too where a branch leads to it", [choice, tpl()], "in-0 > if-0:case:a > tpl-0 > out-0", textOrNull],
      ["is null too where its source may be skipped", [tpl({ skip_if: "true" })], "in-0 > tpl-0 > out-0", textOrNull],
      [
        "is null too where its source may fail to a branch",
        [tpl({ on_error: "branch" })],
        "in-0 > tpl-0 > out-0",
        textOrNull,
      ],
      [
        "is as it is where another way to it is certain",
        [choice, tpl(), other],
        "in-0 > if-0:else > tpl-0 > out-0; in-0 > tpl-1 > out-0",
        text,
      ],
      [
        "is as it is where what leads to it cannot be skipped",
        [choice, tpl()],
        "in-0 > if-0:else > tpl-0; in-0 > tpl-0 > out-0",
        text,
      ],
    ] as const)("%s", (_, nodes, paths, expected) => {
      const described = describing(
        flow({
          nodes: [node("in-0", "input"), ...nodes, node("out-0", "output")],
          edges: edges(...paths.split(";")),
        }),
      );
      expect(described.outputs["properties"]).toEqual({ "out-0": expected });
    });

    it("also allows null if the output can be skipped or its input is optional", () => {
      const skipping = node("out-0", "output", { value: "x" }, { name: "Answer", skip_if: "true" });
      expect(describing(flow({ nodes: [skipping], edges: [] })).outputs["properties"]).toEqual({
        "out-0": { title: "Answer", ...textOrNull },
      });
      const optional = node("in-0", "input", { required: false });
      expect(describing(flow({ nodes: [optional, node("out-0", "output")] })).outputs["properties"]).toEqual({
        "out-0": { type: ["string", "null"] },
      });
    });

    it("allows anything if the output's own failure branches", () => {
      const failing = node("out-0", "output", { value: "x" }, { on_error: "branch" });
      expect(describing(flow({ nodes: [failing], edges: [] })).outputs["properties"]).toEqual({ "out-0": {} });
    });
  });

  it("requires no output, because an unfinished or failed run may lack some", () => {
    const { outputs: schema } = describing(flow());
    expect(schema["required"]).toBeUndefined();
    expect(validator(schema)({})).toBe(true);
    expect(validator(schema)({ other: 1 })).toBe(false);
  });
});

describe("pauses", () => {
  it("are listed with form and actions, and nested ones with their path", () => {
    const form = { type: "object" };
    const inner = {
      nodes: [
        node("ok", "approval", { message: "?", actions: [{ id: "yes", label: "Yes" }] }),
        node("out-0", "output"),
      ],
      edges: edges("ok:yes > out-0"),
    };
    const definition = flow({
      nodes: [
        node("ok", "approval", { message: "?", form }),
        node("map-0", "map", { items: "[]", flow: inner }),
        node("out-0", "output"),
      ],
      edges: edges("ok:approve > map-0 > out-0"),
    });
    expect(describing(definition).pauses).toEqual([
      { node_id: "ok", path: "ok", form, actions: [{ id: "approve" }, { id: "reject" }] },
      { node_id: "ok", path: "map-0/ok", form: null, actions: [{ id: "yes", label: "Yes" }] },
    ]);
  });

  it("include tool calls of an agent that need an approval", () => {
    const tool = { type: "action", provider_id: "http", action_id: "request" };
    const asking = (tools: readonly object[]) =>
      flow({
        nodes: [node("llm-0", "llm", { prompt: "x", tools }), node("out-0", "output")],
        edges: edges("llm-0 > out-0"),
      });
    expect(describing(asking([tool])).pauses).toEqual([]);
    expect(describing(asking([{ ...tool, approval: true }])).pauses).toEqual([
      { node_id: "llm-0", path: "llm-0/tools", form: null, actions: [{ id: "approve" }, { id: "reject" }] },
    ]);
  });
});

describe("the description of a flow", () => {
  it("names the flow, its version and its examples", () => {
    const examples = [{ name: "a", inputs: { "in-0": "x" } }];
    expect(describing(flow({ description: "Does it", examples }))).toMatchObject({
      ...identity,
      description: "Does it",
      examples,
    });
    expect(describing(flow())).toMatchObject({ description: null, examples: [], pauses: [] });
  });

  it("can be returned as JSON Schema, as OpenAPI or as an MCP tool", () => {
    const io = describing(flow());
    expect(presentFlowIo(io, "jsonschema", address)).toBe(io);
    expect(presentFlowIo(io, "openapi", address)).toEqual(toOpenApi(io, address));
    expect(presentFlowIo(io, "mcp", address)).toEqual(toMcpTool(io));
  });
});

describe("as OpenAPI", () => {
  const document = toOpenApi(
    describing(
      flow({
        nodes: [...inputs, node("out-0", "output")],
        edges: edges("in-0 > out-0"),
        examples: [{ name: "first", inputs: { "in-0": "x" } }],
      }),
    ),
    address,
  );

  it("is an OpenAPI 3.1 document of the inference call", () => {
    expect(document).toMatchObject({
      openapi: "3.1.0",
      info: { title: "Test flow", version: "3" },
      servers: [{ url: "https://millrace.example" }],
    });
    expect(Object.keys(document["paths"] as object)).toEqual(["/inference/v0/run/o-1/p-1"]);
    const operation = (document["paths"] as Record<string, { post: JsonObject }>)["/inference/v0/run/o-1/p-1"]?.post;
    expect(operation).toMatchObject({
      operationId: "run_Test_flow",
      requestBody: { content: { "application/json": { examples: { first: { value: { "in-0": "x" } } } } } },
    });
    expect(Object.keys(operation?.["responses"] as object)).toEqual(
      expect.arrayContaining(["200", "202", "422", "504"]),
    );
  });

  it("refers only to schemas that it contains", () => {
    const text = JSON.stringify(document);
    const { schemas } = document["components"] as { schemas: JsonObject };
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(schemas).toHaveProperty(name ?? "");
    expect((schemas["Inputs"] as JsonObject)["properties"]).toHaveProperty("user_id");
  });

  it("escapes IDs for use in paths", () => {
    const other = toOpenApi(describing(flow()), { ...address, org_id: "a/b?c" });
    expect(Object.keys(other["paths"] as object)).toEqual(["/inference/v0/run/a%2Fb%3Fc/p-1"]);
  });
});

describe("as an MCP tool", () => {
  const tool = toMcpTool(
    describing(flow({ nodes: [...inputs, node("out-0", "output")], edges: edges("in-0 > out-0") })),
  );

  it("has a name, a description and the schemas, without inputs that must be uploaded", () => {
    expect(Object.keys(tool)).toEqual(["name", "title", "description", "inputSchema", "outputSchema"]);
    const schema = tool["inputSchema"] as JsonObject;
    expect(schema["type"]).toBe("object");
    expect(Object.keys(schema["properties"] as object)).toEqual(["in-0", "string-0", "url-0"]);
  });

  it.each([
    ["Über uns!", "Uber_uns"],
    ["日本", "flow"],
    ["x".repeat(200), "x".repeat(60)],
    ["a.b c/d", "a_b_c_d"],
  ])("calls the tool of the flow %s %s", (name, expected) => {
    const io = describeFlow(flow(), { ...identity, name }, { max_input_bytes: 1 });
    expect(toMcpTool(io)["name"]).toBe(expected);
  });
});
