import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLongNumber, parseExactJson } from "../../src/domain/exact-json.ts";
import type { Json } from "../../src/domain/json.ts";
import { requireStorable, unstorableText } from "../../src/domain/storable.ts";
import { failureOf } from "../support/failures.ts";

describe("JSON numbers", () => {
  it.each<[string, Json]>([
    ["9007199254740991", 9_007_199_254_740_991],
    ["-9007199254740993", "-9007199254740993"],
    ['{"a": [18446744073709551616, 1]}', { a: ["18446744073709551616", 1] }],
    ["[1e999, -1e+400, 1e-400]", ["1e999", "-1e+400", 0]],
    ["0.12345678901234567890", 0.12345678901234568],
    ["9007199254740993.0", "9007199254740993.0"],
    [
      "[9007199254740993e0, 9.007199254740993e15, -900719925474099.3E+1]",
      ["9007199254740993e0", "9.007199254740993e15", "-900719925474099.3E+1"],
    ],
    ["[9007199254740991.5, 90071992547409930e-1]", ["9007199254740991.5", "90071992547409930e-1"]],
    [
      "[9007199254740991.0, 1e3, 1e21, 1E+300, 6.02e23, 12.50e1]",
      [9_007_199_254_740_991, 1000, 1e21, 1e300, 6.02e23, 125],
    ],
    ["9007199254740992.0", 9_007_199_254_740_992],
    ['["\\"12345678901234567890", 12345678901234567890]', ['"12345678901234567890', "12345678901234567890"]],
    ['{"12345678901234567890": "12345678901234567890\\\\"}', { "12345678901234567890": "12345678901234567890\\" }],
  ])("%s is parsed as %j", (text, value) => {
    expect(parseExactJson(text)).toEqual(value);
  });

  it("are parsed as by JSON.parse if they are exact", () => {
    const number = fc.oneof(fc.maxSafeInteger(), fc.double({ min: -1e15, max: 1e15, noNaN: true }));
    const value = fc.array(fc.dictionary(fc.string({ unit: "binary" }), fc.oneof(number, fc.string(), fc.boolean())));
    fc.assert(
      fc.property(value, (made) => {
        const text = JSON.stringify(["1234567890123456", ...made]);
        expect(parseExactJson(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 200 },
    );
  });
});

it.each([
  ["9007199254740993", true],
  ["-9007199254740993.0", true],
  ["1e400", true],
  ["9007199254740991", false],
  ["1e21", false],
  ["09007199254740993", false],
  ["9007199254740993x", false],
  ["", false],
])("tells whether parsing the text %s as a number would change it: %s", (text, expected) => {
  expect(isLongNumber(text)).toBe(expected);
});

it("parses numbers with many digits in linear time", () => {
  const zeros = "0".repeat(1_000_000);
  expect(parseExactJson(`[1${zeros}, 1.${zeros}, 9007199254740993.${zeros}]`)).toEqual([
    `1${zeros}`,
    1,
    `9007199254740993.${zeros}`,
  ]);
});

describe("a value to be stored in the record of a run", () => {
  it.each<[Json, string | undefined]>([
    [{ a: [1, null, "ü😀"] }, undefined],
    ["\0", "$"],
    [{ a: [1, "x\0"] }, "$.a[1]"],
    [{ a: { b: "\ud800" } }, "$.a.b"],
    [{ a: [{ "\udc00": 1 }] }, "$.a[0] (the name of a field)"],
  ])("%j has its first unstorable character at %s", (value, place) => {
    expect(unstorableText(value)?.place).toBe(place);
  });

  it("is refused with a message that says how to fix it", () => {
    const failure = failureOf(() => requireStorable({ a: "\0" }, "The result"));
    expect(failure.code).toBe("value_not_storable");
    expect(failure.message).toMatch(/^The result contains the character U\+0000 at \$\.a, .*remove it/);
  });
});
