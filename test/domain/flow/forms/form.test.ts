import { describe, expect, it } from "vitest";
import { createFormCompiler } from "../../../../src/domain/flow/forms/form.ts";

function check(schema: object, data: unknown): Array<string> {
  const form = createFormCompiler()(schema);
  if (!form.ok) throw new Error(form.message);
  return form.check(data).map(({ path }) => path.join("."));
}
const many = <Item>(count: number, make: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => make(index));
const text = (pattern: string) => ({ type: "string", pattern });

describe("a form", () => {
  it("checks each member against its own pattern", () => {
    const schema = {
      type: "object",
      properties: { code: text("^[A-Z]{3}$"), digits: text("^[0-9]+$"), same: text("^[0-9]+$") },
    };
    expect(check(schema, { code: "ABC", digits: "12", same: "3" })).toEqual([]);
    expect(check(schema, { code: "12", digits: "ABC", same: "x" })).toEqual(["code", "digits", "same"]);
  });

  it("checks the names of members against patternProperties", () => {
    const schema = { type: "object", patternProperties: { "^x-": { type: "integer" } }, additionalProperties: false };
    expect(check(schema, { "x-a": 1 })).toEqual([]);
    expect(check(schema, { "x-a": "1" })).toEqual(["x-a"]);
    expect(check(schema, { y: 1 })).toEqual([""]);
  });

  it("tells equal items by their value, whatever the order of their members", () => {
    const schema = { uniqueItems: true };
    expect(check(schema, [1, "1", true, null, [1], { a: 1, b: [2] }, { a: 1 }, {}])).toEqual([]);
    expect(
      check(schema, [
        { a: 1, b: [2] },
        { b: [2], a: 1 },
      ]),
    ).toEqual([""]);
    expect(check({ uniqueItems: false }, [1, 1])).toEqual([]);
    expect(check(schema, "11")).toEqual([]);
  });

  it("may be long, or its data a long table", () => {
    const properties = Object.fromEntries(many(300, (n) => [`field_${n}`, { type: "string", maxLength: 200 }]));
    const filled = Object.fromEntries(many(300, (n) => [`field_${n}`, "x".repeat(200)]));
    expect(check({ type: "object", properties, additionalProperties: false }, filled)).toEqual([]);
    const row = { $ref: "#/$defs/row" };
    const columns = { id: { type: "integer" }, name: { type: "string", maxLength: 50 }, ok: { type: "boolean" } };
    const table = {
      $defs: { row: { type: "object", properties: columns } },
      type: "array",
      uniqueItems: true,
      items: row,
    };
    expect(
      check(
        table,
        many(1000, (id) => ({ id, name: `name ${id}`, ok: true })),
      ),
    ).toEqual([]);
  });

  const always = (count: number, schema: object) => ({ allOf: many(count, () => schema) });
  const members = Object.fromEntries(many(9000, (n) => [`m${n}`, n]));
  const items = many(4000, (a) => [a]);
  it.each([
    ["allOf", { items: always(900, { type: "null" }) }, items],
    ["anyOf", { items: { anyOf: [...many(900, () => ({ type: "null" })), true] } }, items],
    ["enum", { items: { enum: many(1500, (a) => ({ a })) } }, items],
    ["uniqueItems", always(700, { uniqueItems: true }), items],
    ["contains", always(500, { contains: { type: "null" } }), items],
    ["minLength", always(900, { minLength: 1 }), "x".repeat(60_000)],
    ["additionalProperties", always(500, { additionalProperties: false }), members],
    ["unevaluatedProperties", always(500, { unevaluatedProperties: false }), members],
    ["patternProperties", always(400, { patternProperties: { "": false } }), members],
    ["propertyNames", always(400, { propertyNames: { maxLength: 1 } }), members],
    ["dependentSchemas", { items: { dependentSchemas: { a: always(900, { type: "null" }) } } }, items],
    ["pattern", { items: always(200, { pattern: "(.*a){20}$" }) }, many(5000, () => "a".repeat(10))],
    ["$ref", { $defs: { a: always(20, { type: "null" }) }, items: always(100, { $ref: "#/$defs/a" }) }, items],
  ])("huge-list: is not checked by many times %s on much data", (_, schema, data) => {
    const form = createFormCompiler()(schema);
    expect(form.ok && form.check(data)).toEqual([{ path: [], message: expect.stringContaining("takes too long") }]);
  });

  it("leads by its references to what is counted, and nowhere else", () => {
    const loop = { $id: "https://a.example/", $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } };
    const form = { $id: "https://b.example/", $defs: { a: {} }, properties: { $id: { type: "string" }, x: loop } };
    expect(createFormCompiler()(form)).toMatchObject({ ok: false, message: expect.stringContaining("$id") });
    expect(check({ ...form, properties: { $id: { type: "string" } } }, { $id: 1 })).toEqual(["$id"]);
  });

  it("regex-dos: takes linear time for a pattern that would take an engine with backtracking for ever", () => {
    const begun = Date.now();
    expect(check(text("^(a+)+$"), `${"a".repeat(50_000)}!`)).toEqual([""]);
    expect(Date.now() - begun).toBeLessThan(25_000);
  });
});
