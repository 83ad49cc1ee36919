import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseExactJson } from "../../src/domain/exact-json.ts";
import type { Json } from "../../src/domain/json.ts";
import { requireStorable, unstorableText } from "../../src/domain/storable.ts";
import { failureOf } from "../support/failures.ts";

describe("numbers of JSON", () => {
  it.each<[string, Json]>([
    ["9007199254740991", 9_007_199_254_740_991],
    ["-9007199254740993", "-9007199254740993"],
    ['{"a": [18446744073709551616, 1]}', { a: ["18446744073709551616", 1] }],
    ["[1e999, -1e+400, 1e-400]", ["1e999", "-1e+400", 0]],
    ["0.12345678901234567890", 0.12345678901234568],
    ['["\\"12345678901234567890", 12345678901234567890]', ['"12345678901234567890', "12345678901234567890"]],
    ['{"12345678901234567890": "12345678901234567890\\\\"}', { "12345678901234567890": "12345678901234567890\\" }],
  ])("%s is %j", (text, value) => {
    expect(parseExactJson(text)).toEqual(value);
  });

  it("are read as JSON.parse does where they are exact", () => {
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

describe("a value for the record of a run", () => {
  it.each<[Json, string | undefined]>([
    [{ a: [1, null, "ü😀"] }, undefined],
    ["\0", "$"],
    [{ a: [1, "x\0"] }, "$.a[1]"],
    [{ a: { b: "\ud800" } }, "$.a.b"],
    [{ a: [{ "\udc00": 1 }] }, "$.a[0] (the name of a member)"],
  ])("%j is at fault at %s", (value, place) => {
    expect(unstorableText(value)?.place).toBe(place);
  });

  it("is refused with the way out", () => {
    const failure = failureOf(() => requireStorable({ a: "\0" }, "The result"));
    expect(failure.code).toBe("value_not_storable");
    expect(failure.message).toMatch(/^The result has the character U\+0000 at \$\.a, .*remove it/);
  });
});
