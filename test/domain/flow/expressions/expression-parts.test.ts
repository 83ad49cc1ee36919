import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cachedByText } from "../../../../src/domain/flow/expressions/cache.ts";
import { isLongerThan, jsonSize } from "../../../../src/domain/flow/expressions/json-size.ts";
import { base64Encode, utf8Decode, utf8Encode } from "../../../../src/domain/flow/expressions/utf8.ts";
import type { Json } from "../../../../src/domain/json.ts";

const anyText = fc.string({ unit: "binary" });

describe("the length of JSON text", () => {
  const value = fc.oneof(fc.jsonValue({ stringUnit: "binary" }), anyText, fc.string({ unit: "grapheme" }));

  it("equals the length of the serialised text in bytes", () => {
    fc.assert(
      fc.property(value, (json) => {
        const bytes = Buffer.byteLength(JSON.stringify(json));
        expect(jsonSize(json as Json, Number.POSITIVE_INFINITY)).toBe(bytes);
        expect(isLongerThan(json as Json, bytes)).toBe(false);
        expect(isLongerThan(json as Json, bytes - 1)).toBe(true);
      }),
      { numRuns: 300 },
    );
    for (const text of ["\ud800", "\udc00x", "\ud83d\ude00", "\u0000\b\t\n\v\f\r\u001f", '"\\/\u007f\u2028']) {
      expect(jsonSize(text, Number.POSITIVE_INFINITY)).toBe(Buffer.byteLength(JSON.stringify(text)));
    }
  });

  it("is not measured beyond the limit", () => {
    const shared = Array.from({ length: 1_000 }, () => "x");
    let repeated: Json = shared;
    for (let level = 0; level < 40; level++) repeated = [repeated, repeated];
    expect(jsonSize(repeated, 1_000_000)).toBeGreaterThan(1_000_000);
  });
});

describe("UTF-8 and base64", () => {
  it("match Node's Buffer for all inputs", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(Buffer.from(utf8Encode(text))).toEqual(Buffer.from(text, "utf8"));
        expect(utf8Decode(utf8Encode(text))).toBe(Buffer.from(text, "utf8").toString("utf8"));
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = base64Encode(bytes);
        expect(text).toBe(Buffer.from(bytes).toString("base64"));
        const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
        let expected: string | undefined;
        try {
          expected = strict.decode(bytes);
        } catch {
          expected = undefined;
        }
        expect(utf8Decode(bytes)).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  it.each([[0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80], [0xff]])(
    "refuse invalid UTF-8: %s %s %s",
    (...bytes) => {
      expect(utf8Decode(Uint8Array.from(bytes))).toBeUndefined();
    },
  );
});

describe("a cache keyed by text", () => {
  it("computes a value once and evicts the oldest", () => {
    const made: string[] = [];
    const cached = cachedByText((text) => {
      made.push(text);
      return { text };
    });
    expect(cached("a")).toBe(cached("a"));
    expect(made).toEqual(["a"]);
    for (let n = 0; n < 1_000; n++) cached(`text ${n}`);
    cached("a");
    expect(made.filter((text) => text === "a")).toHaveLength(2);
    expect(cached("text 999").text).toBe("text 999");
    expect(made).toHaveLength(1_002);
  });

  it("evicts short texts with large values", () => {
    let made = 0;
    const cached = cachedByText(
      () => ++made,
      () => 400_000,
    );
    for (let n = 0; n < 10; n++) cached(`${n}`);
    expect([cached("9"), made]).toEqual([10, 10]);
    expect([cached("0"), made]).toEqual([11, 11]);
  });

  it("evicts long texts and does not cache very long ones", () => {
    let made = 0;
    const cached = cachedByText((text) => {
      made++;
      return text.length;
    });
    for (let n = 0; n < 10; n++) cached(`${n}${"x".repeat(400_000)}`);
    cached(`0${"x".repeat(400_000)}`);
    expect(made).toBe(11);
    cached("y".repeat(1_000_000));
    cached("y".repeat(1_000_000));
    expect(made).toBe(13);
  });
});
