import { describe, expect, it } from "vitest";
import { nodeCatalogue, type NodeKindEntry } from "../../../../src/domain/flow/definition/node-catalogue.ts";
import { DEFAULT_FLOW_LIMITS } from "../../../../src/domain/flow/definition/limits.ts";
import { NODE_KINDS } from "../../../../src/domain/flow/kinds.ts";
import { checkFlow } from "../../../../src/domain/flow/validate/validate.ts";

const catalogue = nodeCatalogue();

function entry(type: string): NodeKindEntry {
  const found = catalogue.find((each) => each.type === type);
  if (!found) throw new Error(`no ${type}`);
  return found;
}

/** The annotations of each field in a node type's configuration, by path in the schema. */
function marksOf(type: string, mark: string): Record<string, unknown> {
  const marks: Record<string, unknown> = {};
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (key === mark) marks[path.slice(1)] = member;
      else if (key !== "examples") walk(member, /^(properties|items|oneOf)$/.test(key) ? path : `${path}.${key}`);
    }
  };
  walk(entry(type).config, "");
  return marks;
}

describe("the catalogue of node types", () => {
  it("has every node type once, with its own title, group and one line of help", () => {
    expect(catalogue.map(({ type }) => type).toSorted()).toEqual(NODE_KINDS.toSorted());
    for (const member of ["title", "help", "icon"] as const)
      expect(new Set(catalogue.map((each) => each[member])).size).toBe(NODE_KINDS.length);
    for (const { help } of catalogue) expect(help).not.toMatch(/\n|\.$/);
  });

  it("gives every field a title, at any depth", () => {
    const walk = (schema: unknown, path: string): void => {
      if (typeof schema !== "object" || schema === null) return;
      for (const [key, member] of Object.entries(schema)) {
        if (key === "$defs" || key === "default" || key === "examples" || key === "flow") continue;
        if (key === "properties")
          for (const [name, field] of Object.entries(member as object))
            expect(field, `${path}.${name}`).toHaveProperty("title");
        walk(member, `${path}.${key}`);
      }
    };
    for (const { type, config } of catalogue.filter(({ type: kind }) => kind !== "map" && kind !== "loop"))
      walk(config, type);
    expect(entry("llm").config).toMatchObject({ properties: { max_tokens: { title: "Max tokens" } } });
    expect(entry("knowledge").config).toMatchObject({ properties: { knowledge_base_id: { title: "Knowledge base" } } });
  });

  it("marks the language of text fields that the node evaluates", () => {
    expect(marksOf("http", "x-language")).toEqual({
      url: "liquid",
      "headers.additionalProperties": "liquid",
      "query.additionalProperties": "liquid",
      body: "liquid",
    });
    expect(marksOf("code", "x-language")).toEqual({ source: "javascript", "args.additionalProperties": "cel" });
    expect(marksOf("condition", "x-language")).toEqual({ "cases.when": "cel" });
    expect(marksOf("llm", "x-language")).toEqual({
      prompt: "liquid",
      system: "liquid",
      messages: "cel",
      images: "cel",
      "tools.0.fixed_inputs.additionalProperties": "liquid",
    });
  });

  it("marks which resource an ID field refers to", () => {
    expect(marksOf("llm", "x-reference")).toEqual({
      connection_id: "connection",
      "tools.0.provider_id": "provider",
      "tools.0.action_id": "action",
      "tools.0.connection_id": "connection",
      "tools.1.knowledge_base_id": "knowledge_base",
      "tools.2.project_id": "project",
      "tools.3.provider_id": "provider",
      "tools.3.only": "action",
      "tools.3.connection_id": "connection",
      skills: "skill",
    });
  });

  it("gives the handles as rules, including one handle per entry of a list", () => {
    const error = { handle: "error", when: { on_error: "branch" } };
    expect(entry("approval").handles).toEqual([{ handle: "{id}", each: "actions" }, { handle: "timeout" }, error]);
    expect(entry("router").handles).toEqual([{ handle: "case:{id}", each: "routes" }, { handle: "else" }, error]);
    expect(entry("template").handles).toEqual([{ handle: "out" }, error]);
    expect(catalogue.filter(({ target }) => !target).map(({ type }) => type)).toEqual(["input", "string"]);
  });

  it.each(NODE_KINDS)("has an example for %s that passes validation", (type) => {
    const { example, config } = entry(type);
    const inner = { nodes: [{ id: "out-1", type: "output", config: { value: "x" } }], edges: [] };
    const nested = "flow" in (config["properties"] as object) ? { flow: inner } : {};
    const node = { id: "node-0", type, config: { ...example, ...nested } };
    const input = entry(type).input;
    const flow = {
      schema_version: 1,
      name: "Example",
      nodes: [{ id: "in-0", type: "input" }, node, { id: "out-0", type: "output", config: { value: "{{ in-0 }}" } }],
      edges: [{ source: "in-0", target: "out-0" }, ...(input ? [] : [{ source: "in-0", target: "node-0" }])],
    };
    const { problems } = checkFlow(flow, DEFAULT_FLOW_LIMITS);
    expect(problems.filter(({ code }) => code !== "unused_node")).toEqual([]);
  });
});
