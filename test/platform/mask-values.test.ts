import { describe, expect, it } from "vitest";
import { createMaskValues } from "../../src/platform/logging/mask-values.ts";

describe("known values in a text", () => {
  const value = 'Pa/ss "wörd" & <more>\\';

  it.each([
    ["as they are", value],
    ["in capitals", value.replace(/[a-z]/g, (letter) => letter.toUpperCase())],
    ["as JSON", JSON.stringify(value)],
    ["as JSON inside JSON", JSON.stringify(JSON.stringify(value))],
    ["as JSON with escaped slashes", JSON.stringify(value).replaceAll("/", "\\/")],
    ["as JSON in ASCII", JSON.stringify(value).replaceAll("ö", "\\u00f6")],
    ["as a component of a URL", encodeURIComponent(value)],
    ["as a component of a URL in small letters", encodeURIComponent(value).toLowerCase()],
    ["as a form", new URLSearchParams({ value }).toString()],
    ["as HTML", "Pa/ss &quot;wörd&quot; &amp; &lt;more&gt;\\"],
    ["as the Latin-1 of a header", Buffer.from(value, "latin1").toString("utf8")],
  ])("are masked: %s", (_, echoed) => {
    const clean = createMaskValues([value])(`before ${echoed} after`);
    expect(clean).toMatch(/^before .*\[redacted\].* after$/);
    expect(clean).not.toMatch(/pa\W|ss|rd|more/i);
  });

  it.each(["", "a", "ab", "abc"])("are masked in base64, whatever stands before them: %j", (before) => {
    const secret = "correct horse battery staple";
    const encoded = Buffer.from(`${before}${secret}${before}`).toString("base64");
    for (const echoed of [encoded, encoded.replaceAll("+", "-").replaceAll("/", "_")]) {
      const clean = createMaskValues([secret])(echoed);
      expect(clean).toContain("[redacted]");
      expect(clean.replace("[redacted]", "").length).toBeLessThanOrEqual(before.length * 3 + 4);
    }
  });

  it("are masked with what a receiver makes of them", () => {
    const basic = `Basic ${Buffer.from("user:open-sesame").toString("base64")}`;
    const mask = createMaskValues(["Custom 0123456789", "a=1; id=abcdefghij", basic]);
    expect(mask("0123456789, abcdefghij, open-sesame, Custom, a, id")).toBe(
      "[redacted], [redacted], [redacted], Custom, a, id",
    );
  });

  it("are masked where they overlap, and at the end of a text that was cut", () => {
    expect(createMaskValues(["abcdef", "defghi"])("-abcdefghi-")).toBe("-[redacted]-");
    expect(createMaskValues(["aaaa"])("-aaaaaa-")).toBe("-[redacted]-");
    expect(createMaskValues(["abcdef"])("-abcd", true)).toBe("-[redacted]");
    expect(createMaskValues(["abcdef"])("-abcd")).toBe("-abcd");
  });

  it("stay where they are too short to be told from other text", () => {
    expect(createMaskValues(["1", "abc", " ", ""])('{"abc": 1}', true)).toBe('{"abc": 1}');
  });

  it("cost little, however many and however long", () => {
    const values = Array.from({ length: 20 }, (_, n) => `${n}-${"abcdefgh ".repeat(22)}`);
    const began = performance.now();
    createMaskValues(values)("abcdefgh ".repeat(2000), true);
    createMaskValues(["a".repeat(4096)])("a".repeat(16_384), true);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});
