import { describe, expect, it } from "vitest";
import { createMarks, findAll } from "../../src/domain/find-text.ts";

/** All texts of a few letters, in which forms overlap with each other and with themselves. */
function* words(letters: string, chars: number): Generator<string> {
  if (chars === 0) return yield "";
  for (const word of words(letters, chars - 1)) for (const letter of letters) yield word + letter;
}

function found(text: string, form: string): { readonly spans: number[][]; readonly end: number } {
  const spans: number[][] = [];
  const end = findAll(text, form, (from, to) => spans.push([from, to]));
  return { spans, end };
}

/** The expected result, found by trying every position. */
function tried(text: string, form: string): { readonly spans: number[][]; readonly end: number } {
  const spans: number[][] = [];
  for (let at = 0; at + form.length <= text.length; at += 1)
    if (text.startsWith(form, at)) spans.push([at, at + form.length]);
  const ends = Array.from({ length: Math.min(form.length - 1, text.length) + 1 }, (_, chars) => chars);
  return { spans, end: ends.findLast((chars) => text.endsWith(form.slice(0, chars))) ?? 0 };
}

describe("a search for a string in a text", () => {
  it("finds every occurrence, and a partial match at the end", () => {
    const forms = [1, 2, 3].flatMap((chars) => [...words("ab", chars)]);
    for (const form of [...forms, "aabaaab", "abababab", "aaaaaaaaab"])
      for (const text of [...words("ab", 9), "", "aabaaabaaabab", "x".repeat(50) + form + form.slice(1)])
        expect({ text, form, ...found(text, form) }).toEqual({ text, form, ...tried(text, form) });
  });

  it.each([
    ["runs of one letter", "a".repeat(200_000), "a".repeat(50_000)],
    ["what differs at its beginning", "a".repeat(200_000), `b${"a".repeat(50_000)}`],
    ["what differs at its end", "a".repeat(200_000), `${"a".repeat(50_000)}b`],
    ["what differs in the middle", "a".repeat(200_000), `${"a".repeat(30_000)}b${"a".repeat(30_000)}`],
    ["what nearly matches over and over", `${"a".repeat(99)}b`.repeat(2000), "a".repeat(100)],
    ["beginnings", "abcdefX".repeat(30_000), "abcdefgh".repeat(5000)],
  ])("redos-own: takes a bounded number of steps per character: %s", (_, text, form) => {
    const budget = { steps: 10 * (text.length + form.length) };
    findAll(text, form, () => undefined, budget);
    expect(budget.steps).toBeGreaterThan(7 * (text.length + form.length));
  });

  it("stops when its step budget is spent", () => {
    const budget = { steps: 1000 };
    const ends: number[] = [];
    findAll("a".repeat(1_000_000), "aa", (_from, to) => ends.push(to), budget);
    expect(ends.length).toBeLessThan(1001);
    expect(budget.steps).toBeLessThanOrEqual(0);
  });
});

describe("marked ranges", () => {
  it("are masked once where they overlap or touch", () => {
    const marks = createMarks("0123456789");
    expect(marks.masked("*")).toBe("0123456789");
    for (const [from, to] of [
      [1, 3],
      [2, 4],
      [8, 10],
      [4, 5],
      [1, 2],
    ] as const)
      marks.add(from, to);
    expect(marks.masked("*")).toBe("0*567*");
  });

  it("are masked in a text with thousands of them", () => {
    const text = "aab".repeat(10_000);
    const marks = createMarks(text);
    findAll(text, "aa", marks.add);
    expect(marks.masked("*")).toBe("*b".repeat(10_000));
  });
});
