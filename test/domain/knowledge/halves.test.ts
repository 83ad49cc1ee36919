import { expect, it } from "vitest";
import { decodeHalves, encodeHalves, normalizeVector } from "../../../src/domain/knowledge/halves.ts";

const roundTrip = (values: number[]): number[] => {
  const target = new Float32Array(values.length);
  decodeHalves(encodeHalves(values), target);
  return [...target];
};

it("keeps values that fit a 16-bit float and rounds others to the nearest, ties to even", () => {
  const exact = [0, 1, -1, 0.5, 65_504, 2 ** -14, 2 ** -24, -(2 ** -20)];
  expect(roundTrip(exact)).toEqual(exact);
  expect(roundTrip([1 + 2 ** -11, 1 + 3 * 2 ** -11, 2 ** -26, 70_000])).toEqual([1, 1 + 2 ** -9, 0, Infinity]);
  for (let i = 0; i < 1000; i += 1) {
    const value = Math.sin(i) / 10;
    expect(Math.abs((roundTrip([value])[0] ?? 9) - value)).toBeLessThanOrEqual(
      Math.max(Math.abs(value) / 2048, 2 ** -25),
    );
  }
});

it("refuses a zero or non-finite vector", () => {
  expect(() => normalizeVector([0, 0])).toThrow("zero vector");
  expect(() => normalizeVector([Number.NaN])).toThrow("zero vector");
  expect([...normalizeVector([3, 4])].map((each) => each.toFixed(2))).toEqual(["0.60", "0.80"]);
});
