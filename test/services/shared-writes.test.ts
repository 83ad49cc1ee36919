import { describe, expect, it } from "vitest";
import { shareWrites, type ShareOptions } from "../../src/services/shared-writes.ts";

/** Writes that last until the test ends them. */
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

describe("shared writes", () => {
  it("write the first immediately and later ones as one batch, in order", async () => {
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

  it("include the first in a batch if writes are gathered, up to a maximum", async () => {
    const { write, written } = begin(undefined, { gatherMs: 1, maxTogether: 2 });
    const results = ["a", "b", "c"].map((item) => write("run", item));
    await expect.poll(() => written.length).toBe(1);
    written[0]?.end();
    await expect.poll(() => written.length).toBe(2);
    written[1]?.end();
    expect(await Promise.all(results)).toEqual(["a+b", "a+b", "c"]);
  });

  it("keep different keys apart", async () => {
    const { write, written } = begin();
    const results = [write("one", "a"), write("other", "b")];
    for (const { end } of written) end();
    expect(await Promise.all(results)).toEqual(["a", "b"]);
  });

  it("fail only for the item that is invalid", async () => {
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

  it("fail together if the database is unavailable", async () => {
    const { write, written, turn } = begin(() => true);
    const results = Promise.allSettled(["a", "b", "c"].map((item) => write("run", item)));
    written[0]?.end(new Error("away"));
    await turn();
    written[1]?.end(new Error("away"));
    expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(written).toHaveLength(2);
  });
});
