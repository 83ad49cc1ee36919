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
  it("checks each field against its own pattern", () => {
    const schema = {
      type: "object",
      properties: { code: text("^[A-Z]{3}$"), digits: text("^[0-9]+$"), same: text("^[0-9]+$") },
    };
    expect(check(schema, { code: "ABC", digits: "12", same: "3" })).toEqual([]);
    expect(check(schema, { code: "12", digits: "ABC", same: "x" })).toEqual(["code", "digits", "same"]);
  });

  it("reports a missing field at its own location", () => {
    const inner = { type: "object", required: ["c"] };
    const schema = { type: "object", required: ["a", "b"], properties: { b: inner } };
    expect(check(schema, { b: {} }).toSorted()).toEqual(["a", "b.c"]);
  });

  it("checks field names against patternProperties", () => {
    const schema = { type: "object", patternProperties: { "^x-": { type: "integer" } }, additionalProperties: false };
    expect(check(schema, { "x-a": 1 })).toEqual([]);
    expect(check(schema, { "x-a": "1" })).toEqual(["x-a"]);
    expect(check(schema, { y: 1 })).toEqual([""]);
  });

  it("compares items by value, whatever the order of their fields", () => {
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

  it.each([
    ["itself", { properties: { children: { items: { $ref: "#" } } } }],
    ["$async", { $async: true, type: "string" }],
    ["another dialect", { $schema: "http://json-schema.org/draft-07/schema#" }],
    ["a schema elsewhere", { $ref: "https://a.example/schema.json" }],
    ["a pattern that only backtracking can match", text("(?=a)")],
    ["more than a form may have", { title: "x".repeat(16 * 1024) }],
  ])("is refused: %s", (_, schema) => {
    expect(createFormCompiler()(schema)).toMatchObject({ ok: false, message: expect.any(String) });
  });

  it("regex-dos: takes linear time for a pattern that a backtracking engine would run forever on", () => {
    const startedAt = Date.now();
    expect(check(text("^(a+)+$"), `${"a".repeat(50_000)}!`)).toEqual([""]);
    expect(Date.now() - startedAt).toBeLessThan(25_000);
  });
});
