import { expect, it } from "vitest";
import { metadataSchemaSchema, readMetadata } from "../../../src/domain/knowledge/metadata.ts";

const schema = metadataSchemaSchema.parse({
  properties: {
    team: { type: "string", options: ["red", "blue"] },
    day: { type: "date" },
    year: { type: "number" },
    tags: { type: "string_list" },
  },
});

it("keeps metadata in the form that filters compare", () => {
  const values = { team: "red", day: "2026-01-31T01:00:00+01:00", year: 2024, tags: ["a"] };
  expect(readMetadata(schema, { ...values, other: undefined, team: null }, ["m"]).issues).toHaveLength(1);
  expect(readMetadata(schema, values, ["m"])).toEqual({
    metadata: { team: "red", day: "2026-01-31T00:00:00.000Z", year: 2024, tags: ["a"] },
    issues: [],
  });
});

it.each([
  [{ size: 1 }, "size", "unknown_field"],
  [{ constructor: "x" }, "constructor", "unknown_field"],
  [{ team: "green" }, "team", "unknown_option"],
  [{ team: 1 }, "team", "wrong_type"],
  [{ day: "31.1.2026" }, "day", "wrong_type"],
  [{ year: Number.NaN }, "year", "wrong_type"],
  [{ tags: "a" }, "tags", "wrong_type"],
])("refuses %j", (values, field, type) => {
  expect(readMetadata(schema, values, ["m"]).issues).toMatchObject([{ loc: ["m", field], type }]);
});
