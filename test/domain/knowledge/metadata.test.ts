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

it("stores metadata in the form that filters compare", () => {
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
  [{ day: "2026-02-31" }, "day", "wrong_type"],
  // JavaScript's Date would read this as 3 March.
  [{ day: "2026-02-31T12:00:00Z" }, "day", "wrong_type"],
  [{ day: "2026-01-31T" }, "day", "wrong_type"],
  // In UTC this is in the year 10000, which sorts before 2026 as text.
  [{ day: "9999-12-31T23:00:00-05:00" }, "day", "wrong_type"],
  [{ year: Number.NaN }, "year", "wrong_type"],
  // The sender may have meant 9007199254740993, which rounds to this number.
  [{ year: 9007199254740992 }, "year", "wrong_type"],
  [{ year: -9007199254740992 }, "year", "wrong_type"],
  [{ tags: "a" }, "tags", "wrong_type"],
])("refuses %j", (values, field, type) => {
  expect(readMetadata(schema, values, ["m"]).issues).toMatchObject([{ loc: ["m", field], type }]);
});

it("accepts whole numbers up to the largest exact one, and any fraction", () => {
  for (const year of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 0.1, 1790.5])
    expect(readMetadata(schema, { year }, ["m"])).toEqual({ metadata: { year }, issues: [] });
});

it.each(["2026-01-31T12:30:00", "2026-01-31 12:30", "2026-01-31t12:30:00z", "2026-01-31T14:30:00+02:00"])(
  "reads %s as the same moment in every time zone",
  (day) => {
    const zone = process.env["TZ"];
    process.env["TZ"] = "America/New_York";
    try {
      expect(readMetadata(schema, { day }, ["m"]).metadata).toEqual({ day: "2026-01-31T12:30:00.000Z" });
    } finally {
      if (zone === undefined) delete process.env["TZ"];
      else process.env["TZ"] = zone;
    }
  },
);
