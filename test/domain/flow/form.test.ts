import { describe, expect, it } from "vitest";
import { createFormCompiler } from "../../../src/domain/flow/form.ts";

function check(schema: object, data: unknown): Array<string> {
  const form = createFormCompiler()(schema);
  if (!form.ok) throw new Error(form.message);
  return form.check(data).map(({ path }) => path.join("."));
}
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

  it("regex-dos: takes linear time for a pattern that would take an engine with backtracking for ever", () => {
    const begun = Date.now();
    expect(check(text("^(a+)+$"), `${"a".repeat(50_000)}!`)).toEqual([""]);
    expect(Date.now() - begun).toBeLessThan(25_000);
  });
});
