import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/domain/json.ts";
import { strictSchema } from "../../../src/domain/models/strict-schema.ts";

const text = { type: "string" };
const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  ...more,
});

/** Objects nested to this depth, with a text at the innermost level. */
function nestedTo(levels: number): JsonObject {
  return levels === 2 ? closed({ a: text }) : closed({ a: nestedTo(levels - 1) });
}

describe("a schema in strict mode", () => {
  it("closes all of its objects at any depth and drops keywords that the mode does not know", () => {
    const inner = closed({ a: text });
    const given = closed(
      {
        list: { type: "array", items: inner },
        one: { anyOf: [{ $ref: "#/$defs/inner" }, { type: "null" }] },
        b: { ...text, default: "x" },
      },
      { $schema: "https://json-schema.org/draft/2020-12/schema", $defs: { inner } },
    );
    const found = { ...inner, additionalProperties: false };
    expect(strictSchema(given)).toEqual({
      type: "object",
      properties: {
        list: { type: "array", items: found },
        one: { anyOf: [{ $ref: "#/$defs/inner" }, { type: "null" }] },
        b: text,
      },
      required: ["list", "one", "b"],
      additionalProperties: false,
      $defs: { inner: found },
    });
  });

  it("accepts ten levels, a hundred fields and references to definitions", () => {
    const hundred = closed(Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`m${n}`, text])));
    for (const schema of [nestedTo(10), hundred]) expect(strictSchema(schema)).not.toBeNull();
    const defined = { $ref: "#/$defs/b", $defs: { b: text } };
    expect(strictSchema(closed({ a: defined }))).toMatchObject({ properties: { a: defined } });
  });

  it.each<[string, JsonObject]>([
    ["a member that may be left out", { ...closed({ a: text, b: text }), required: ["a"] }],
    ["a member that is needed and not described", { ...closed({ a: text }), required: ["a", "b"] }],
    ["an object of any members", closed({ a: { type: "object" } })],
    ["an object of members by a schema", closed({ a: { type: "object", additionalProperties: text } })],
    ["an open object that says so", closed({ a: text }, { additionalProperties: true })],
    ["a keyword that the mode does not know", closed({ a: { ...text, minLength: 2 } })],
    ["a combination", closed({ a: text }, { allOf: [closed({ b: text })] })],
    ["no object", { type: "array", items: text }],
    ["any value", closed({ a: {} })],
    ["an object that could only be empty", closed({ a: closed({}) })],
    ["a choice with a member that is none", closed({ a: { anyOf: [text, { ...text, minLength: 2 }] } })],
    ["a choice of whole answers", closed({ a: text }, { anyOf: [closed({ b: text })] })],
    ["a reference with more beside it", closed({ a: { $ref: "#/$defs/b", title: "b" } }, { $defs: { b: text } })],
    ["eleven levels", nestedTo(11)],
    ["a hundred and one members", closed(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`m${n}`, text])))],
    ["a format that the mode does not know", closed({ a: { ...text, format: "uri" } })],
  ])("is null for %s", (_, schema) => {
    expect(strictSchema(schema)).toBeNull();
  });
});
