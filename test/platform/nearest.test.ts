import { afterAll, expect, it } from "vitest";
import { allocateVectors, createNearestSearch, numbersOf, strideOf } from "../../src/platform/vectors/nearest.ts";

const nearest = createNearestSearch(2);
afterAll(() => nearest.close());

// Some sizes are large enough for the WebAssembly kernel and some too small, with dimensions that are no multiple of eight.
it.each([
  [6000, 384],
  [20_000, 100],
  [500, 384],
  [70, 3],
])("orders %i vectors of %i dimensions, also with concurrent callers", async (count, dimensions) => {
  const memory = allocateVectors(count, dimensions);
  expect(memory instanceof SharedArrayBuffer).toBe(count < 1000);
  const data = numbersOf(memory);
  const stride = strideOf(dimensions);
  for (let i = 0; i < count; i += 1) {
    for (let d = 0; d < dimensions; d += 1) data[i * stride + d] = Math.sin(i * 31 + d * 7);
  }
  const ask = async (seed: number): Promise<void> => {
    const query = Float32Array.from({ length: dimensions }, (_, d) => Math.cos(seed + d));
    const scoreOf = (slot: number): number =>
      query.reduce((sum, value, d) => sum + value * (data[slot * stride + d] ?? 0), 0);
    const all = Array.from({ length: count }, (_, slot) => scoreOf(slot));
    const request = { memory, dimensions, count, query, limit: count };
    const found = await nearest.search({ ...request, slots: null });
    expect(new Set(found.slots).size).toBe(count);
    const differences = found.slots.map((slot, i) => Math.abs((found.scores[i] ?? 0) - (all[slot] ?? Infinity)));
    expect(Math.max(...differences)).toBeLessThan(1e-3);
    expect(found.scores).toEqual(found.scores.toSorted((one, other) => other - one));
    const among = await nearest.search({ ...request, slots: Int32Array.from([5, 3, 60]) });
    expect(among.slots.toSorted((a, b) => a - b)).toEqual([3, 5, 60]);
  };
  await Promise.all([1, 2, 3, 4, 5, 6].map(ask));
});
