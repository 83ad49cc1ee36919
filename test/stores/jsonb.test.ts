import { describe, expect, it } from "vitest";
import { jsonb } from "../../src/stores/jsonb.ts";

describe("jsonb", () => {
  it.each([
    ["a\u0000b", "a\ufffdb"],
    ["\ud800x", "\ufffdx"],
    ["x\udfff", "x\ufffd"],
    ["\\u0000", "\\u0000"],
    ["\\\\u0000 \u0000", "\\\\u0000 \ufffd"],
    ["😀", "😀"],
    [{ "k\u0000": ["\udc00"] }, { "k\ufffd": ["\ufffd"] }],
  ])("converts %j to what Postgres can store", (value, expected) => {
    expect(JSON.parse(jsonb(value))).toEqual(expected);
  });
});
