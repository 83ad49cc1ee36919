import { check } from "recheck";
import { describe, expect, it } from "vitest";
import { nearMatch } from "../support/near-matches.ts";
import { sourcePatterns } from "../support/patterns.ts";

const FUZZED_CHARS = 200_000;
/** Over this many characters, a quadratic pattern takes minutes and a linear one moments (ms). */
const BOUND_MS = 10_000;
/** Separators between near-matches: patterns often restart at the end of a word, line or string. */
const BETWEEN = ["", "-", " ", "\n", '"', "\\", "\0"];

const patterns = sourcePatterns("src", "workflows", "activities");
const places = new Map<string, string[]>();
for (const { source, flags, where } of patterns) {
  const text = `/${source}/${flags}`;
  places.set(text, [...(places.get(text) ?? []), where]);
}
/** Each distinct pattern once, with all its locations. */
const distinct = [...new Map(patterns.map((each) => [`/${each.source}/${each.flags}`, each])).entries()].map(
  ([text, each]) => ({ ...each, text, where: places.get(text)?.join(", ") ?? "" }),
);

/** Long texts that almost match: repeated beginnings of matches, and runs of one character. */
function nearMatches({ source, flags }: { readonly source: string; readonly flags: string }): string[] {
  // The seed is fixed, so every run uses the same texts.
  let state = 7;
  const pick = (among: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % Math.max(1, among);
  };
  const pieces = BETWEEN.flatMap((between) => {
    const text = nearMatch(source, flags, pick);
    return [text.slice(0, 1 + pick(text.length)) + between];
  });
  return [...new Set([...pieces, nearMatch(source, flags, pick).slice(0, 1)])]
    .filter((piece) => piece !== "")
    .map((piece) => `${piece.repeat(Math.ceil(FUZZED_CHARS / piece.length))}\0`);
}

describe("redos-own: regular expressions in the code", () => {
  it("are found by the test", () => {
    expect(patterns.length).toBeGreaterThan(300);
    expect(patterns.map(({ where }) => where.replace(/:\d+$/, ""))).toContain("src/platform/logging/redaction.ts");
  });

  it("take linear time according to an analyser", { timeout: 300_000 }, async () => {
    const known = { source: "(?<!x)\\s+$", flags: "" };
    expect((await analyse(known)).status).toBe("vulnerable");
    const found: string[] = [];
    for (const pattern of distinct) {
      const { status, ...more } = await analyse(pattern);
      if (status === "safe") continue;
      const attack = "attack" in more ? more.attack?.pattern : "";
      found.push(`${pattern.where}: ${pattern.text} is ${status} ${attack}`);
    }
    expect(found).toEqual([]);
  });

  it("are fast on long texts that nearly match", { timeout: 300_000 }, () => {
    const slow: string[] = [];
    for (const pattern of distinct) {
      const regex = new RegExp(pattern.source, pattern.flags);
      for (const text of nearMatches(pattern)) {
        const started = performance.now();
        if (regex.global) text.replace(regex, "");
        else regex.test(text);
        const ms = performance.now() - started;
        if (ms > BOUND_MS) slow.push(`${pattern.where}: ${Math.round(ms)} ms on ${JSON.stringify(text.slice(0, 40))}`);
      }
    }
    expect(slow).toEqual([]);
  });
});

/** Search effort that is enough to find superlinear patterns whose assertions prevent a proof. */
function analyse({ source, flags }: { readonly source: string; readonly flags: string }) {
  return check(source, flags, { timeout: 60_000, maxIteration: 3, incubationLimit: 10_000, attackTimeout: 300 });
}
