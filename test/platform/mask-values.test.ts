import { describe, expect, it } from "vitest";
import { createMaskValues } from "../../src/platform/logging/mask-values.ts";

const MARKS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };

describe("secret-by-dry-run: known values in a text", () => {
  const value = `Pa/ss "wörd" & <more>'\\`;

  it.each([
    ["as they are", value],
    ["in capitals", value.replace(/[a-z]/g, (letter) => letter.toUpperCase())],
    ["in JSON", JSON.stringify(value)],
    ["in a component of a URL", encodeURIComponent(value)],
    ["in a component of a URL in small letters", encodeURIComponent(value).toLowerCase()],
    ["in a form", new URLSearchParams({ value }).toString()],
    ["in a URL within a URL", encodeURIComponent(encodeURIComponent(value))],
    ["in a form within a URL", encodeURIComponent(new URLSearchParams({ value }).toString())],
    ["in a page", value.replace(/[&<>"]/g, (mark) => (mark === '"' ? "&quot;" : (MARKS[mark] ?? mark)))],
    ["in a page with quotes by number", value.replace(/[&<>"']/g, (mark) => MARKS[mark] ?? mark)],
    ["in hex", Buffer.from(value).toString("hex").toUpperCase()],
    ["in base64", Buffer.from(value).toString("base64")],
    ["in a Basic credential", `Basic ${Buffer.from(`user:${value}`).toString("base64")}`],
    ["in base64 for URLs", Buffer.from(`{"a":"${value}"}`).toString("base64url")],
  ])("are masked: %s", (_, echoed) => {
    const clean = createMaskValues([value])(`before ${echoed} after`);
    expect(clean).toMatch(/^before .*\[redacted\].* after$/);
    expect(clean.length).toBeLessThan("before  after".length + 40);
    expect(clean).not.toMatch(/pa\W|ss|rd|more/i);
  });

  it("are masked without their scheme, if they overlap, and at the end of truncated text", () => {
    expect(createMaskValues(["Custom 0123456789"])("Custom: 0123456789.")).toBe("Custom: [redacted].");
    expect(createMaskValues(["abcdef", "defghi"])("-abcdefghi-")).toBe("-[redacted]-");
    expect(createMaskValues(["ababa"])("-abababa-")).toBe("-[redacted]-");
    expect(createMaskValues(["ABCDEF"])("-é aBcDeF-")).toBe("-é [redacted]-");
    expect(createMaskValues(["abcdef"])("-abcd", true)).toBe("-[redacted]");
    expect(createMaskValues(["abcdef"])("-abcd")).toBe("-abcd");
  });

  it("are not masked if they are too short to be distinguished from other text", () => {
    expect(createMaskValues(["1", "abc", " ", ""])('{"abc": 1}', true)).toBe('{"abc": 1}');
  });

  it("redos-own: are masked quickly, however many and long they are", { timeout: 30_000 }, () => {
    const values = Array.from({ length: 20 }, (_, n) => `${n}-${"abcdefgh ".repeat(22)}`);
    const began = performance.now();
    createMaskValues(values)("abcdefgh ".repeat(2000), true);
    createMaskValues(["a".repeat(4096)])("a".repeat(16_384), true);
    const long = 25 * 1024 * 1024;
    expect(createMaskValues(["aaaaaaaa"])("a".repeat(long))).toBe("[redacted]");
    createMaskValues([`b${"a".repeat(4095)}`])("a".repeat(long), true);
    expect(performance.now() - began).toBeLessThan(15_000);
  });
});
