import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../../src/domain/json.ts";
import { jsonTextOf, readTexts, withRoundedIntegers } from "../../../src/domain/providers/read-texts.ts";

const LONG = "9007199254740993";
const kinds = (name: string, more: JsonObject): JsonObject => ({
  type: "object",
  properties: { kind: { const: name }, ...more },
  required: ["kind"],
});

const schema = {
  type: "object",
  properties: {
    count: { type: "integer" },
    name: { type: "string" },
    tags: { type: "array", items: { $ref: "#/$defs/tag" } },
    maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
    one: { oneOf: [{ type: "boolean" }, { $ref: "#/$defs/size" }] },
    either: { anyOf: [{ type: "string" }, { type: "integer" }] },
    all: { allOf: [{ $ref: "#/$defs/size" }], description: "as Pydantic writes it" },
    choice: { enum: [1, 2, "three"] },
    only: { const: 7 },
    any: {},
    pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: { type: "boolean" } },
    map: { type: "object", additionalProperties: { type: "integer" } },
    tree: { $ref: "#/$defs/tree" },
    shape: { oneOf: [kinds("circle", { size: { type: "number" } }), kinds("label", { size: { type: "string" } })] },
    filled: {
      anyOf: [{ required: ["id"], properties: { id: { type: "integer" } } }, { required: ["name"] }, { type: "null" }],
    },
  },
  $defs: {
    tag: { type: "boolean" },
    size: { type: "integer", minimum: 1 },
    tree: {
      type: "object",
      properties: { size: { type: "integer" }, children: { type: "array", items: { $ref: "#/$defs/tree" } } },
    },
    endless: { anyOf: [{ $ref: "#/$defs/endless" }, { $ref: "#/$defs/endless" }, { $ref: "#/$defs/mirror" }] },
    mirror: {
      allOf: [{ $ref: "#/$defs/mirror" }, { oneOf: [{ $ref: "#/$defs/endless" }, { $ref: "#/$defs/mirror" }] }],
    },
  },
} satisfies JsonObject;

it.each<[string, Json, Json]>([
  ["as JSON where no text is wanted", { count: "5", tags: ["true"] }, { count: 5, tags: [true] }],
  ["as they are where they are no JSON", { count: "five", maybe: "" }, { count: "five", maybe: "" }],
  [
    "as they are where a text is wanted, or nothing is said",
    { name: "5", other: "6", any: "7" },
    { name: "5", other: "6", any: "7" },
  ],
  ["by the alternatives", { maybe: "5", one: "true", either: "5" }, { maybe: 5, one: true, either: "5" }],
  ["as null where that is one", { maybe: "null" }, { maybe: null }],
  ["by all parts of a schema", { all: "5" }, { all: 5 }],
  ["by choices", { choice: "1", only: "7" }, { choice: 1, only: 7 }],
  ["as the choice that is a text", { choice: "three" }, { choice: "three" }],
  ["by their place in a list", { pair: ["1", "2", "true"] }, { pair: ["1", 2, true] }],
  ["under names that the schema leaves open", { map: { a: "5" } }, { map: { a: 5 } }],
  [
    "within what contains itself",
    { tree: { size: "1", children: [{ size: "2" }] } },
    { tree: { size: 1, children: [{ size: 2 }] } },
  ],
  [
    "by what tells alternatives apart",
    { shape: { kind: "circle", size: "2" } },
    { shape: { kind: "circle", size: 2 } },
  ],
  [
    "by what tells alternatives apart, the other one",
    { shape: { kind: "label", size: "2" } },
    { shape: { kind: "label", size: "2" } },
  ],
  ["by the alternative whose members are there", { filled: { id: "5" } }, { filled: { id: 5 } }],
  [
    "with all their digits",
    { count: LONG, maybe: LONG, map: `{"a":${LONG}}` },
    { count: LONG, maybe: LONG, map: { a: LONG } },
  ],
])("texts are read %s", (_, value, expected) => {
  expect(readTexts(schema, value)).toEqual(expected);
});

it("finishes if schemas refer to each other in many ways", () => {
  for (const name of ["endless", "mirror"]) {
    const root = { properties: { a: { $ref: `#/$defs/${name}` } }, $defs: schema.$defs };
    expect(readTexts(root, { a: "5", b: [{ c: "6" }] })).toMatchObject({ b: [{ c: "6" }] });
    expect(readTexts({ ...root, items: { $ref: `#/$defs/${name}` } }, [["5"], { a: "6" }])).toHaveLength(2);
  }
});

describe("an integer beyond 2^53", () => {
  const value = { count: LONG, name: LONG, either: LONG, map: { a: `${LONG}.0` }, tags: [true, LONG], any: "\\u00000" };

  it("is rounded to check a number, and stays text if text is required", () => {
    expect(withRoundedIntegers(schema, value)).toEqual({
      ...value,
      count: Number(LONG),
      map: { a: Number(LONG) },
      tags: [true, Number(LONG)],
    });
    expect(withRoundedIntegers(schema, { count: "5", maybe: "1e400" })).toEqual({ count: "5", maybe: "1e400" });
  });

  it("is sent as the number that the schema requires", () => {
    expect(jsonTextOf(schema, schema, value)).toBe(
      `{"count":${LONG},"name":"${LONG}","either":"${LONG}","map":{"a":${LONG}.0},"tags":[true,${LONG}],"any":"\\\\u00000"}`,
    );
  });
});
