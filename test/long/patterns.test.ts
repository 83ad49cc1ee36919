import { check } from "recheck";
import { describe, expect, it } from "vitest";
import { nearMatch } from "../support/near-matches.ts";
import { sourcePatterns } from "../support/patterns.ts";

const FUZZED_CHARS = 200_000;
/** A quadratic pattern takes minutes over so many characters, a linear one moments (ms). */
const BOUND_MS = 10_000;
/** What stands between the near-matches: ends of words, of lines and of strings are where patterns begin anew. */
const BETWEEN = ["", "-", " ", "\n", '"', "\\", "\0"];

const patterns = sourcePatterns("src", "workflows", "activities");
const places = new Map<string, string[]>();
for (const { source, flags, where } of patterns) {
  const text = `/${source}/${flags}`;
  places.set(text, [...(places.get(text) ?? []), where]);
}
/** Each once, with all the places where it is written. */
const distinct = [...new Map(patterns.map((each) => [`/${each.source}/${each.flags}`, each])).entries()].map(
  ([text, each]) => ({ ...each, text, where: places.get(text)?.join(", ") ?? "" }),
);

/** Long texts of what nearly matches: beginnings of matches, over and over, and runs of one character. */
function nearMatches({ source, flags }: { readonly source: string; readonly flags: string }): string[] {
  // The same texts in every run.
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

describe("redos-own: the patterns of the sources", () => {
  it("are found", () => {
    expect(patterns.length).toBeGreaterThan(300);
    expect(patterns.map(({ where }) => where.replace(/:\d+$/, ""))).toContain("src/platform/logging/redaction.ts");
  });

  it("are linear, as far as an analyser can tell", { timeout: 300_000 }, async () => {
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

  it("take no longer than moments over long texts that nearly match", { timeout: 300_000 }, () => {
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

/** Enough of a search to find what is superlinear, where there are assertions and a proof is not to be had. */
function analyse({ source, flags }: { readonly source: string; readonly flags: string }) {
  return check(source, flags, { timeout: 60_000, maxIteration: 3, incubationLimit: 10_000, attackTimeout: 300 });
}
