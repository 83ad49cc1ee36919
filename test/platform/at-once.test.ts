import { describe, expect, it } from "vitest";
import { eachAtOnce } from "../../src/platform/at-once.ts";

/** Work that runs until the test ends it. */
function gated() {
  const started: number[] = [];
  const ends = new Map<number, (error?: Error) => void>();
  const work = (item: number): Promise<number> =>
    new Promise((resolve, reject) => {
      started.push(item);
      ends.set(item, (error) => (error ? reject(error) : resolve(item * 10)));
    });
  const end = async (item: number, error?: Error): Promise<void> => {
    ends.get(item)?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, work, end };
}

describe("eachAtOnce", () => {
  it("starts the next item when one has finished, and returns results in the order of the items", async () => {
    const { started, work, end } = gated();
    const results = eachAtOnce([1, 2, 3, 4], 2, work);
    expect(started).toEqual([1, 2]);
    await end(2);
    expect(started).toEqual([1, 2, 3]);
    await end(3);
    await end(4);
    await end(1);
    expect(await results).toEqual([10, 20, 30, 40]);
  });

  it("fails with the first error once the items in flight have finished, and starts no more", async () => {
    const { started, work, end } = gated();
    let settled = false;
    const results = eachAtOnce([1, 2, 3, 4], 2, work).finally(() => (settled = true));
    const failure = results.catch((error: unknown) => error);
    await end(2, new Error("the second"));
    expect([started, settled]).toEqual([[1, 2], false]);
    await end(1);
    expect(await failure).toMatchObject({ message: "the second" });
    expect(started).toEqual([1, 2]);
  });

  it("starts all items if there are fewer than the limit, and accepts an empty list", async () => {
    expect(await eachAtOnce([1, 2], 8, (item) => Promise.resolve(item + 1))).toEqual([2, 3]);
    expect(await eachAtOnce([], 8, (item) => Promise.resolve(item))).toEqual([]);
  });
});
