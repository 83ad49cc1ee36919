import { describe, expect, it } from "vitest";
import { fuseScores } from "../../../src/domain/knowledge/fuse.ts";

const order = (fused: ReadonlyMap<string, number>): string => [...fused.keys()].join("");
const cosines = [
  ["a", 0.9],
  ["b", 0.85],
  ["c", 0.6],
] as const;

describe("fuseScores", () => {
  it.each([
    ["no words at all: the order of meaning", [], cosines, "abc"],
    ["one chunk with the words: it wins what is near, not what is far better", [["b", 0.7]], cosines, "bac"],
    ["one chunk with the words, far away in meaning", [["c", 0.7]], cosines, "abc"],
    [
      "no meaning: the order of words",
      [
        ["x", 0.9],
        ["y", 0.2],
      ],
      [],
      "xy",
    ],
    [
      "cosines that differ by chance: the order of words",
      [
        ["c", 0.9],
        ["b", 0.3],
      ],
      [
        ["a", 0.81],
        ["b", 0.805],
        ["c", 0.8],
      ],
      "cba",
    ],
    ["nothing", [], [], ""],
  ] as const)("%s", (_, words, meaning, expected) => {
    const fused = fuseScores<string>(words, meaning, 0.4);
    expect(order(fused)).toBe(expected);
    for (const score of fused.values()) expect(score).toBeGreaterThanOrEqual(0);
    for (const score of fused.values()) expect(score).toBeLessThanOrEqual(1);
  });

  it("keeps the scale: a best match in both has the weighted mean, and a single ranking keeps its own scores", () => {
    const words = [
      ["a", 0.5],
      ["c", 0.1],
    ] as const;
    expect(fuseScores<string>(words, cosines, 0.4).get("a")).toBeCloseTo(0.4 * 0.5 + 0.6 * 0.9, 9);
    const alone = (weight: number): unknown[] =>
      [...fuseScores<string>(words, cosines, weight)].map(([key, score]) => [key, Number(score.toFixed(9))]);
    expect(alone(0)).toEqual(cosines);
    expect(alone(1)).toEqual([...words, ["b", 0]]);
  });
});
