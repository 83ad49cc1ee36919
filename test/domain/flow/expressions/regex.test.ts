import { describe, expect, it } from "vitest";
import { patternSize } from "../../../../src/domain/flow/expressions/pattern-size.ts";
import { compileRegex } from "../../../../src/domain/flow/expressions/regex.ts";

const test = (source: string, text: string, flags?: string): boolean | string => {
  const compiled = compileRegex(source, flags);
  return compiled.ok ? compiled.regex.test(text) : compiled.message;
};

describe("a user's regular expression", () => {
  it.each([
    ["b+", "abbc", "", true],
    ["^b+$", "abbc", "", false],
    ["B", "abc", "", false],
    ["B", "abc", "i", true],
    ["^b$", "a\nb\nc", "", false],
    ["^b$", "a\nb\nc", "m", true],
    ["a.b", "a\nb", "", false],
    ["a.b", "a\nb", "s", true],
    ["^.$", "😀", "u", true],
    ["^\\p{L}+$", "Žluť", "", true],
  ])("/%s/ tested against %j with flags %j: %s", (source, text, flags, found) => {
    expect(test(source, text, flags)).toBe(found);
  });

  it("may be written as in JavaScript", () => {
    expect(test("^a\\/b$", "a/b")).toBe(true);
    expect(test("^\\u0041$", "A")).toBe(true);
    expect(test("^(?<year>\\d{4})$", "2024")).toBe(true);
  });

  it.each([
    ["(", /missing closing/],
    ["a**", /invalid nested repetition/],
    ["(?=a)", /no look-around/],
    ["(?<!a)b", /no look-around/],
    ["(a)\\1", /no back-references/],
    ["(a{100}){100}", /invalid repeat count/],
    ["(a{1000}){1000}", /invalid repeat count/],
    ["(?:ab){1000}(?:ab){1000}(?:ab){1000}", /too large: reduce its counted repetitions/],
  ])("%s is refused with its reason", (source, reason) => {
    expect(test(source, "")).toMatch(reason);
  });

  it("is refused if it is too long or too deep", () => {
    expect(test("a".repeat(2_000), "a")).toBe(false);
    expect(test("a".repeat(2_001), "a")).toMatch(/at most 2000 characters/);
    expect(test("(".repeat(1_000) + ")".repeat(1_000), "a")).toMatch(/nests too deeply/);
  });

  it.each([
    "^[A-Z]{3}-\\d{2,4}$",
    "(?:a?b?){1000}",
    "(?:(?:ab){10}){10}",
    "(?:ab\\Q(\\Ecd){500}",
    "(?:ab[)({9}]cd){500}",
    "(?:ab(?:[]|e)cd){500}",
    "(?:ab[[:alpha:])]cd){500}",
    "a{0,1000}",
    "(a|b|(c){5}){100}",
  ])("%s is measured before it is compiled", (source) => {
    const compiled = compileRegex(source);
    const instructions = compiled.ok ? compiled.regex.instructions : 0;
    expect(instructions).toBeGreaterThan(0);
    expect(patternSize(source)).toBeGreaterThan(instructions / 3);
    expect(patternSize(source)).toBeLessThan(instructions * 10);
  });

  it("with an unknown flag is refused", () => {
    expect(test("a", "a", "ig")).toMatch(/Unknown regular expression flag "g"/);
  });

  it("is cached separately for each set of flags", () => {
    expect(test("abc", "ABC", "i")).toBe(true);
    expect(test("abc", "ABC")).toBe(false);
    expect(test("i/abc", "abc")).toBe(false);
  });

  // regex-dos
  it.each([
    ["(a+)+$", `${"a".repeat(5_000)}!`],
    ["(a|aa)+$", `${"a".repeat(5_000)}!`],
    ["(.*a){20}$", `${"a".repeat(5_000)}!`],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(5_000)],
    ["(\\w+\\s?)*!$", "aaaa ".repeat(1_000)],
  ])("regex-dos: %s takes time linear in the text", (source, text) => {
    // A backtracking engine would take longer than the age of the universe, already for 30 characters.
    expect(test(source, text)).toBe(false);
  });
});
