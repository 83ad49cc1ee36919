import { expect, it } from "vitest";
import type { Json } from "../../../src/domain/json.ts";
import { readTexts } from "../../../src/domain/providers/read-texts.ts";

const schema = {
  type: "object",
  properties: {
    count: { type: "integer" },
    name: { type: "string" },
    tags: { type: "array", items: { $ref: "#/$defs/tag" } },
  },
  $defs: { tag: { type: "boolean" } },
};

it.each<[string, Json, Json]>([
  ["as JSON where no text is wanted", { count: "5", tags: ["true"] }, { count: 5, tags: [true] }],
  ["as they are where they are no JSON", { count: "five" }, { count: "five" }],
  ["as they are where a text is wanted, or nothing is said", { name: "5", other: "6" }, { name: "5", other: "6" }],
])("texts are read %s", (_, value, expected) => {
  expect(readTexts(schema, value)).toEqual(expected);
});
