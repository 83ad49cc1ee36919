import { describe, expect, it } from "vitest";
import type { ShareOptions } from "../../src/services/shared-writes.ts";
import { shareWrites } from "../../src/services/shared-writes.ts";

/** Writes that the test ends. */
function begin(isPassing: (error: unknown) => boolean = () => false, options?: ShareOptions) {
  const written: Array<{ items: readonly string[]; end: (error?: Error) => void }> = [];
  const write = shareWrites<string, string>(
    (items) =>
      new Promise((resolve, reject) => {
        written.push({ items, end: (error) => (error ? reject(error) : resolve(items.join("+"))) });
      }),
    isPassing,
    options,
  );
  return { write, written, turn: () => new Promise((resolve) => setImmediate(resolve)) };
}

describe("writes that go together", () => {
  it("the first at once, later ones as one batch, in their order", async () => {
    const { write, written, turn } = begin();
    const results = ["a", "b", "c"].map((item) => write("run", item));
    expect(written.map(({ items }) => items)).toEqual([["a"]]);
    written[0]?.end();
    await turn();
    results.push(write("run", "d"));
    written[1]?.end();
    await turn();
    written[2]?.end();
    expect(await Promise.all(results)).toEqual(["a", "b+c", "b+c", "d"]);
    expect(written).toHaveLength(3);
  });

  it("from the first on, where they are gathered, but not too many of them", async () => {
    const { write, written } = begin(undefined, { gatherMs: 1, maxTogether: 2 });
    const results = ["a", "b", "c"].map((item) => write("run", item));
    await expect.poll(() => written.length).toBe(1);
    written[0]?.end();
    await expect.poll(() => written.length).toBe(2);
    written[1]?.end();
    expect(await Promise.all(results)).toEqual(["a+b", "a+b", "c"]);
  });

  it("of different keys not at all", async () => {
    const { write, written } = begin();
    const results = [write("one", "a"), write("other", "b")];
    for (const { end } of written) end();
    expect(await Promise.all(results)).toEqual(["a", "b"]);
  });

  it("that fail for one fail for that one alone", async () => {
    const { write, written, turn } = begin();
    const results = Promise.allSettled(["a", "b", "c"].map((item) => write("run", item)));
    written[0]?.end();
    await turn();
    written[1]?.end(new Error("c is bad"));
    await turn();
    written[2]?.end();
    await turn();
    written[3]?.end(new Error("c is bad"));
    expect((await results).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(written.map(({ items }) => items)).toEqual([["a"], ["b", "c"], ["b"], ["c"]]);
    expect(await Promise.all([write("run", "d"), turn().then(() => written.at(-1)?.end())])).toEqual(["d", undefined]);
  });

  it("fail together when the database is away", async () => {
    const { write, written, turn } = begin(() => true);
    const results = Promise.allSettled(["a", "b", "c"].map((item) => write("run", item)));
    written[0]?.end(new Error("away"));
    await turn();
    written[1]?.end(new Error("away"));
    expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(written).toHaveLength(2);
  });
});
