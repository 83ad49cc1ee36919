import { describe, expect, it } from "vitest";
import { createShares, roundRobin } from "../../src/domain/shares.ts";

/** Takes slots for the keys in turn until none is left. */
function takeAll(shares: ReturnType<typeof createShares>, keys: readonly string[]): void {
  for (let gave = true; gave;) {
    gave = false;
    for (const key of keys) if (shares.take(key)) gave = true;
  }
}

describe("shares of slots", () => {
  it.each([1, 2, 3, 5, 9])(
    "noisy-neighbour: give each of %i busy keys its share and leave a slot for a newcomer",
    (busy) => {
      const shares = createShares(60);
      const keys = Array.from({ length: busy }, (_, at) => `key-${at}`);
      takeAll(shares, keys);
      for (const key of keys) expect(shares.inUse(key)).toBeGreaterThanOrEqual(Math.floor(60 / (busy + 1)));
      expect(shares.take("newcomer")).not.toBeNull();
    },
  );

  it("noisy-neighbour: leave a slot for others, however many the first key asks for", () => {
    for (let size = 2; size < 20; size += 1) {
      const shares = createShares(size);
      takeAll(shares, ["first"]);
      expect(shares.inUse("first")).toBe(Math.ceil(size / 2));
      expect(shares.free("first")).toBe(0);
      expect(shares.take("second")).not.toBeNull();
    }
  });

  it("report as many free slots as can be taken", () => {
    const shares = createShares(7);
    shares.take("a");
    for (const [key, free] of [
      ["a", 3],
      ["b", 3],
    ] as const) {
      expect(shares.free(key)).toBe(free);
    }
    takeAll(shares, ["b"]);
    expect(shares.inUse("b")).toBe(3);
  });

  it("noisy-neighbour: keep the last slot for short work, however many keys do long work", () => {
    for (let size = 2; size < 40; size += 1) {
      const shares = createShares(size);
      for (let key = 0; key < 2 * size; key += 1) {
        while (shares.free(`long-${key}`, { long: true }) > 0)
          expect(shares.take(`long-${key}`, { long: true })).not.toBeNull();
        expect(shares.take(`long-${key}`, { long: true })).toBeNull();
      }
      expect(shares.inUse()).toBeLessThan(size);
      expect(shares.take("short")).not.toBeNull();
    }
  });

  it("leave slots of a key's share to its more urgent work", () => {
    const shares = createShares(8);
    while (shares.take("a", { leave: 1 }));
    expect([shares.inUse("a"), shares.free("a")]).toEqual([3, 1]);
    const small = createShares(7);
    while (small.take("a", { leave: 1 }));
    expect([small.inUse("a"), small.free("a")]).toEqual([3, 1]);
  });

  it("release a slot only once", () => {
    const shares = createShares(4);
    const release = shares.take("a");
    shares.take("a");
    release?.();
    release?.();
    expect([shares.inUse("a"), shares.inUse()]).toEqual([1, 1]);
  });
});

it("orders items round robin by key, each key in its own order", () => {
  const items = ["a1", "a2", "a3", "b1", "c1", "c2"];
  expect(roundRobin(items, (item) => item.charAt(0))).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
  expect(roundRobin([], String)).toEqual([]);
});
