import { describe, expect, it } from "vitest";
import { mapRecord, neededFields } from "../../../src/domain/evals/import.ts";

const mapping = { inputs: { "in-0": "q", "in-1": "meta.lang" }, expected_outputs: { "out-0": "a" }, external_id: "id" };

describe("a record mapped to a dataset row", () => {
  it("reads fields by name and by path, and accepts a number as ID", () => {
    expect(mapRecord({ q: "Why?", meta: { lang: "en" }, a: ["b"], id: 7, other: 1 }, mapping)).toEqual({
      ok: true,
      row: {
        external_id: "7",
        inputs: { "in-0": "Why?", "in-1": "en" },
        expected_outputs: { "out-0": ["b"] },
        metadata: {},
        split: null,
        tags: [],
      },
      given: ["inputs", "expected_outputs"],
    });
  });

  it("prefers a field whose name contains a dot to a path", () => {
    const found = mapRecord({ q: 1, "meta.lang": "x", meta: { lang: "y" } }, mapping);
    expect(found).toMatchObject({
      ok: true,
      row: { inputs: { "in-1": "x" }, expected_outputs: {}, external_id: null },
    });
  });

  it.each([
    ["an input that is not there", { q: 1 }, "field_missing"],
    ["a list", [1], "not_an_object"],
    ["text that cannot be stored", { q: "a\u0000", "meta.lang": "" }, "text_not_storable"],
    ["too much", { q: "x".repeat(1_100_000), "meta.lang": "" }, "row_too_long"],
    ["an id that is none", { q: "", "meta.lang": "", id: ["x"] }, "invalid_row"],
  ])("refuses %s", (_, record, code) => {
    expect(mapRecord(record, mapping)).toMatchObject({ ok: false, code });
  });

  it("reads empty cells as no ID and no split", () => {
    const found = mapRecord({ q: "", id: "", part: "" }, { inputs: { "in-0": "q" }, external_id: "id", split: "part" });
    expect(found).toMatchObject({ ok: true, row: { inputs: { "in-0": "" }, external_id: null, split: null } });
  });

  it("requires the metadata and split columns only in tables", () => {
    const wanted = { inputs: { a: "q" }, metadata: { m: "meta" }, split: "part", external_id: "id" };
    expect(neededFields(wanted, true)).toEqual(["q", "id", "meta", "part"]);
    expect(neededFields(wanted, false)).toEqual(["q", "id"]);
  });

  it("without a mapping, reads the format that an export writes", () => {
    const columns = { row_id: "x", status: "active", "inputs.in-0": "a", "inputs.in-1": "", tags: "b, c", split: "" };
    expect(mapRecord(columns, null)).toMatchObject({
      ok: true,
      row: { inputs: { "in-0": "a" }, tags: ["b", "c"], split: null },
    });
    const row = mapRecord({ ...columns, "metadata.none": null, expected_outputs: null }, null);
    expect(row).toMatchObject({ ok: true, row: { metadata: {}, expected_outputs: {} } });
    expect("row" in row ? Object.keys(row.row.inputs) : null).toEqual(["in-0"]);
    expect(mapRecord({ inputs: { "in-0": { deep: [1] } }, metadata: { k: 1 } }, null)).toMatchObject({
      ok: true,
      row: { inputs: { "in-0": { deep: [1] } }, metadata: { k: 1 } },
    });
    expect(mapRecord({ question: "a" }, null)).toMatchObject({ ok: false, code: "invalid_row" });
  });
});
