import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/domain/json.ts";
import { bytesOf, isLong, jsonBytes } from "../../../src/platform/json/write-json.ts";
import { nextSlice } from "../../../src/platform/slices.ts";

const LONG = 300_000;

async function slicesOf(value: Json): Promise<Buffer[]> {
  const slices: Buffer[] = [];
  for await (const slice of jsonBytes(value)) slices.push(slice);
  return slices;
}
const written = async (value: Json): Promise<string> => Buffer.concat(await slicesOf(value)).toString("utf8");

describe("a long value", () => {
  it("is written like JSON.stringify", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 6 }), async (value) => {
        const expected = JSON.stringify(value);
        expect(await written(value as Json)).toBe(expected);
        expect((await bytesOf(value as Json)).toString("utf8")).toBe(expected);
      }),
    );
  });

  it.each([
    ["characters beyond the basic plane, wherever it is cut", `x${"🌾".repeat(LONG)}`],
    ["the same, a unit further on", "🌾".repeat(LONG)],
    ["halves of characters", "\ud83c".repeat(LONG)],
    ["escapes", '"\\\n\u2028'.repeat(LONG)],
    ["a long name", { ["n".repeat(LONG)]: [1, "two", null, true, {}, []] }],
    ["many members", Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, i]))],
    ["a member __proto__", JSON.parse(`{"__proto__": "${"p".repeat(LONG)}"}`) as Json],
    ["what is undefined", { a: undefined, b: [undefined], c: "c".repeat(LONG) } as unknown as Json],
  ])("is written like JSON.stringify with %s", async (_, value) => {
    expect(isLong(value)).toBe(true);
    expect(await written(value)).toBe(JSON.stringify(value));
  });

  it("is written in short slices", async () => {
    const slices = await slicesOf(["x".repeat(5_000_000), Array.from({ length: 100_000 }, (_, i) => i)]);
    expect(slices.length).toBeGreaterThan(70);
    expect(Math.max(...slices.map(({ byteLength }) => byteLength))).toBeLessThan(200_000);
  });

  it("does not include short values", () => {
    expect([isLong("x".repeat(1000)), isLong({ a: [1, 2, 3] }), isLong(null)]).toEqual([false, false, false]);
  });

  it("is rejected if it is nested too deeply to be read again", async () => {
    let deep: Json = "x".repeat(LONG);
    for (let level = 0; level < 5000; level += 1) deep = [deep];
    await expect(written(deep)).rejects.toMatchObject({ code: "value_too_deep" });
  });
});

it("nextSlice lets one caller continue per iteration of the event loop", async () => {
  let turn = 0;
  const count = (): void => {
    turn += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const turns: number[] = [];
  const work = async (): Promise<void> => {
    for (let slice = 0; slice < 5; slice += 1) {
      await nextSlice();
      turns.push(turn);
    }
  };
  await Promise.all([work(), work(), work()]);
  clearImmediate(counting);
  expect(new Set(turns).size).toBe(15);
});
