import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeCatalogue } from "../../src/domain/flow/definition/node-catalogue.ts";
import { BUILTIN_PROVIDERS } from "../../src/domain/providers/builtin/index.ts";
import { importOpenApi } from "../../src/domain/providers/openapi/import.ts";
import { completed, initialData, setAt, startOf } from "../../web/parts/schema-form/data.ts";
import { formState, isDirty, reduceForm } from "../../web/parts/schema-form/form-history.ts";
import { controlOf, readSchema, typesOf, type Control } from "../../web/parts/schema-form/schema.ts";
import { matchingVariant, variantsOf } from "../../web/parts/schema-form/variants.ts";

const MAX_DEPTH = 6;
/** Most parts that are visited of a schema that contains itself. */
const MAX_PARTS = 2000;
interface Found {
  readonly path: string;
  readonly control: Control;
  readonly types: readonly string[];
}

/** The control of every part of a schema, as the form would show it. */
function controlsOf(given: unknown, root: unknown, path = "", depth = 0, budget = { left: MAX_PARTS }): Found[] {
  budget.left -= 1;
  const schema = readSchema(given, root);
  const control = controlOf(schema, root);
  const inner = (part: unknown, step: string): Found[] =>
    depth < MAX_DEPTH && budget.left > 0 ? controlsOf(part, root, `${path}/${step}`, depth + 1, budget) : [];
  const parts = (): Found[] => {
    if (control === "members")
      return Object.entries(schema.properties ?? {}).flatMap(([name, each]) => inner(each, name));
    if (control === "record") return inner(schema.additionalProperties, "*");
    if (control === "list") return inner(schema.items, "0");
    if (control === "union") return variantsOf(schema, root).flatMap((way) => inner(way.schema, `<${way.label}>`));
    return [];
  };
  return [{ path, control, types: typesOf(schema) }, ...parts()];
}

const catalogue = nodeCatalogue();
const configOf = (type: string): Record<string, unknown> =>
  catalogue.find((kind) => kind.type === type)?.config as Record<string, unknown>;
const memberOf = (type: string, name: string): unknown =>
  (configOf(type)["properties"] as Record<string, unknown>)[name];

describe("the control of a schema", () => {
  it("is a form for every field of every node type, never JSON text alone", () => {
    const found = catalogue.flatMap(({ type, config }) =>
      controlsOf(config, config).map((each) => ({ ...each, path: `${type}${each.path}` })),
    );
    expect(found.filter(({ control }) => control === "json")).toEqual([]);
    expect(new Set(found.map(({ control }) => control))).toEqual(
      new Set([
        "code",
        "reference",
        "choice",
        "constant",
        "union",
        "members",
        "record",
        "checks",
        "list",
        "text",
        "number",
        "check",
        "none",
      ]),
    );
  });

  it("is a form for the inputs of every action of the providers that come with Millrace and of an imported API", () => {
    const document: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../../openapi.json"), "utf8"));
    const own = importOpenApi(document, "https://millrace.example.com");
    const actions = [...BUILTIN_PROVIDERS.flatMap(({ actions }) => actions), ...own.actions];
    expect(actions.length).toBeGreaterThan(150);
    const found = actions.flatMap(({ input_schema }) => controlsOf(input_schema, input_schema));
    expect(found.length).toBeGreaterThan(1000);
    // Only a value of any type has no field of its own.
    expect(found.filter(({ control, types }) => control === "json" && types.length > 0)).toEqual([]);
  });

  it("follows references, merges allOf, and ends in a schema that contains itself", () => {
    const root = {
      $defs: { "a/b": { type: "object", properties: { next: { $ref: "#/$defs/a~1b" }, n: { type: "integer" } } } },
      allOf: [{ $ref: "#/$defs/a~1b" }, { properties: { more: { type: "string" } }, required: ["more"] }],
    };
    const read = readSchema(root, root);
    expect(Object.keys(read.properties ?? {})).toEqual(["next", "n", "more"]);
    expect(read.required).toEqual(["more"]);
    expect(controlsOf(root, root).length).toBeLessThan(50);
    for (const circle of [
      { $ref: "#" },
      { allOf: [{ $ref: "#" }, { $ref: "#" }] },
      { anyOf: [{ $ref: "#" }, { $ref: "#" }] },
    ])
      expect(controlsOf(circle, circle).length).toBeLessThan(5 * MAX_PARTS);
  });

  it("comes from a hostile schema too", () => {
    const hostile = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.jsonValue(), tie("schema")),
      schema: fc.dictionary(
        fc.constantFrom(
          "type",
          "properties",
          "items",
          "anyOf",
          "oneOf",
          "allOf",
          "$ref",
          "enum",
          "const",
          "required",
          "title",
          "default",
          "additionalProperties",
          "x-language",
          "__proto__",
        ),
        tie("value"),
        { maxKeys: 5 },
      ),
    }));
    fc.assert(
      fc.property(hostile.schema, fc.jsonValue(), (schema, value) => {
        for (const { control } of controlsOf(schema, schema)) expect(control).toEqual(expect.any(String));
        const read = readSchema(schema, schema);
        for (const { label } of variantsOf(read, schema)) expect(label).toEqual(expect.any(String));
        expect(matchingVariant(variantsOf(read, schema), value, schema)).toEqual(expect.any(Number));
        for (const text of [read.title, read.description, read.format])
          expect(["string", "undefined"]).toContain(typeof text);
        initialData(schema);
        startOf(schema, schema);
        completed(schema, value);
      }),
      { numRuns: 300 },
    );
  });
});

describe("the alternatives of a union", () => {
  it("are named, and the one that fits a value is found", () => {
    const root = configOf("llm");
    const tool = readSchema((memberOf("llm", "tools") as { items: unknown }).items, root);
    const tools = variantsOf(tool, root);
    expect(tools.map(({ label }) => label)).toEqual(["Action", "Knowledge", "Subflow", "MCP"]);
    expect(matchingVariant(tools, { type: "subflow", project_id: "p" }, root)).toBe(2);
    expect(startOf(tools[1]?.schema, root)).toEqual({ type: "knowledge" });
    for (const [type, name, value, label] of [
      ["http", "expect_status", "2xx", "Text"],
      ["http", "expect_status", 404, "Whole number"],
      ["http", "expect_status", [200, "3xx"], "List"],
      ["llm", "tool_choice", "auto", "Choice"],
      ["llm", "tool_choice", { tool: "search" }, "Object with tool"],
      ["http", "body", { a: [1] }, "Object"],
      ["http", "body", "text", "Text"],
      ["http", "body", null, "Nothing"],
    ] as const) {
      const variants = variantsOf(readSchema(memberOf(type, name), configOf(type)), configOf(type));
      const at = matchingVariant(variants, value, configOf(type));
      expect([name, value, variants[at]?.label]).toEqual([name, value, label]);
    }
    expect(matchingVariant(tools, "nothing of it", root)).toBe(-1);
  });

  it("have different names, and one for each type of a list of types", () => {
    const schema = readSchema({ anyOf: [{ type: ["string", "null"] }, { type: "string" }, { $ref: "#/missing" }] }, {});
    expect(variantsOf(schema, {}).map(({ label }) => label)).toEqual(["Text", "Nothing", "Text 2", "Any value"]);
  });
});

describe("the data of a form", () => {
  it("changes at a path, and shares what does not change", () => {
    const data = { a: [{ b: 1 }, { b: 2 }], c: { d: 1 } };
    const changed = setAt(data, ["a", 1, "b"], 3) as typeof data;
    expect(changed).toEqual({ a: [{ b: 1 }, { b: 3 }], c: { d: 1 } });
    expect(changed.c).toBe(data.c);
    expect(setAt(data, ["c", "d"], undefined)).toEqual({ a: data.a, c: {} });
    expect(setAt(undefined, ["x", 0, "y"], true)).toEqual({ x: [{ y: true }] });
    expect(setAt({}, ["__proto__", "polluted"], 1)).not.toHaveProperty("polluted", 1);
    expect({}).not.toHaveProperty("polluted");
  });

  it("is undone change by change, with the typing of a second as one, and reset", () => {
    const type = (state: ReturnType<typeof formState>, text: string, at: number) =>
      reduceForm(state, { type: "change", path: ["name"], value: text, at });
    let state = type(type(type(formState({ name: "" }), "A", 0), "Ad", 500), "Ada", 1400);
    state = type(state, "Ada B", 5000);
    expect(isDirty(state)).toBe(true);
    state = reduceForm(state, { type: "undo" });
    expect(state.value).toEqual({ name: "Ada" });
    state = reduceForm(state, { type: "undo" });
    expect([state.value, isDirty(state)]).toEqual([{ name: "" }, false]);
    state = reduceForm(type(state, "B", 9000), { type: "reset" });
    expect(state.value).toEqual({ name: "" });
    expect(reduceForm(state, { type: "undo" }).value).toEqual({ name: "B" });
  });
});
