import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonFault, parseJson } from "../../../src/platform/json/parse-json.ts";
import { findForbidden } from "../../../src/api/http/json-guard.ts";
import { readJson, type JsonBody } from "../../../src/api/http/read-json.ts";

/** An object with every name as its own property, including `__proto__`. */
function record(members: ReadonlyArray<readonly [string, unknown]>): object {
  return Object.defineProperties(
    {},
    Object.fromEntries(members.map(([name, value]) => [name, { value, enumerable: true, configurable: true }])),
  );
}

/** Reads a body that arrives in chunks of this size. */
function read(text: string, size = text.length): Promise<JsonBody> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );
  const req = Object.assign(Readable.from(pieces), {
    headers: { "content-type": "application/json", "content-length": String(bytes.length) },
  });
  return readJson(req as unknown as IncomingMessage, { limit: 10_000_000, maxValues: 500_000 });
}

/** The value with numbers as JSON.parse rounds them, but without infinities. */
const rounded = (body: string): unknown =>
  JSON.parse(body.replace(/\[(-?)1[eE]\+?\d{3}/, `[$1${Number.MAX_VALUE}`)) as unknown;

const refusal = { issues: [{ loc: ["body"], type: "json_too_complex" }] };

describe("a JSON body", () => {
  it.each([1, 2, 3, 7, 1000])("is read correctly in pieces of %i bytes, whatever its strings contain", async (size) => {
    const value = { "[[\\": `"${'[{,\\"'.repeat(300)}\\`, é: ["\\", '"', { "": "😀" }], plain: "[".repeat(300) };
    expect((await read(JSON.stringify(value), size)).value).toEqual(value);
  });

  it.each([1, 2, 3, 7, 1000])("is rejected in pieces of %i bytes if it nests too deeply", async (size) => {
    const nested = (depth: number) => `["\\\\","\\"",${"[".repeat(depth)}${"]".repeat(depth)}]`;
    await expect(read(nested(100), size)).rejects.toMatchObject(refusal);
    expect((await read(nested(99), size)).value).toEqual(JSON.parse(nested(99)));
  });

  it.each([1, 2, 3, 7, 1000])("records exactly the inexact numbers, in pieces of %i bytes", async (size) => {
    for (const text of ["9007199254740993", "-18446744073709551616", "1e999", "-1E+400"]) {
      const body = `["a\\\\", {"${text}": [${text},"\\"${text}"]}, 12, true]`;
      const kept = ["a\\", { [text]: [text, `"${text}`] }, 12, true];
      expect(await read(body, size)).toMatchObject({ value: kept, rounded: rounded(body) });
    }
  });

  it("huge-list: is rejected if it has more values than the published limit", async () => {
    const members = (count: number) => `{${Array.from({ length: count }, (_, n) => `"${n}":0`).join(",")}}`;
    await expect(read(members(500_001), 65_536)).rejects.toMatchObject(refusal);
    expect(Object.keys((await read(members(500_000), 65_536)).value as object)).toHaveLength(500_000);
  });

  it("yields to the event loop while it is searched for forbidden content", async () => {
    const text = `{"a":"${"\\\\".repeat(2 * 1024 * 1024)}"}`;
    let iterations = 0;
    let next = setImmediate(function count() {
      iterations += 1;
      next = setImmediate(count);
    });
    expect(await findForbidden({}, Buffer.from(text), false)).toBeNull();
    clearImmediate(next);
    // 4 MiB in chunks of at most 512 KiB.
    expect(iterations).toBeGreaterThan(6);
  });

  it.each(['{"b":"\\u0000"}', '{"__proto__":1}'])("is rejected with %s anywhere in it", async (member) => {
    for (let before = 256 * 1024 - member.length - 8; before < 256 * 1024; before += 1) {
      const text = `["${"a".repeat(before)}",${member}]`;
      await expect(read(text, 65_536)).rejects.toMatchObject({
        issues: [{ loc: expect.arrayContaining(["body", 1]) }],
      });
    }
  });

  it("yields to the event loop while a long body is read", async () => {
    let iterations = 0;
    let next = setImmediate(function count() {
      iterations++;
      next = setImmediate(count);
    });
    await read(JSON.stringify({ list: [Array.from({ length: 200_000 }, (_, n) => n % 10), { text: "\u0001" }] }));
    clearImmediate(next);
    // 400 kB of text in chunks of 64 kB, and 200,000 values in tens of thousands per step.
    expect(iterations).toBeGreaterThanOrEqual(20);
  });
});

describe("wide-json: a text parsed in slices", () => {
  const filler = "x".repeat(300_000);
  const parse = (text: string): Promise<unknown> => parseJson(Buffer.from(text));

  it("gives the same value as JSON.parse", async () => {
    const member = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("__proto__", "constructor", "0", '"', "\\"),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.oneof(fc.string({ unit: "grapheme" }), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
        fc.constant(filler),
        fc.array(tie("tree"), { maxLength: 6 }),
        fc.integer({ min: 1, max: 60_000 }).map((length) => Array.from({ length }, (_, n) => n)),
        fc.array(fc.tuple(member, tie("tree")), { maxLength: 6 }).map((members) => record(members)),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree, fc.constantFrom(undefined, 1, "\t"), async (value, space) => {
        const text = JSON.stringify([{ first: [value, filler], "\u00e9": value }, [[value]], filler], null, space);
        const parsed = await parse(text);
        expect(JSON.stringify(parsed)).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 25 },
    );
  });

  const long = JSON.stringify(Array.from({ length: 60_000 }, (_, n) => n));
  it.each([
    ["a comma before the end", `[${long},]`],
    ["a comma at the beginning", `[,${long}]`],
    ["two commas", `[${long},,${long}]`],
    ["no comma", `[${long} ${long}]`],
    ["text behind", `${long} 1`],
    ["a value behind", `${long}[]`],
    ["text before", `1 ${long}`],
    ["text before an inner list", `[1 ${long}]`],
    ["text behind an inner list", `[${long} 1]`],
    ["a minus before a member's list", `{"a":-${long}}`],
    ["no name", `{${long}}`],
    ["two names", `{"a":"b":${long}}`],
    ["a name that is none", `{a:${long}}`],
    ["the wrong bracket", `${long.slice(0, -1)}}`],
    ["the wrong outer bracket", `{"a":${long}]`],
    ["no end", long.slice(0, -1)],
    ["no end of a string", `[${long},"${filler}`],
    ["an escaped end of a string", `[${long},"${filler}\\"]`],
    ["a word", `[${long},nul]`],
    ["a missing member", `{"a":${long},}`],
    ["only a comma", `${" ".repeat(300_000)},`],
    ["nothing", " ".repeat(300_000)],
    ["a list with gaps", `[${"1,".repeat(100_000)}${" ".repeat(70_000)},1]`],
  ])("is rejected if it has %s", async (_, text) => {
    expect(() => JSON.parse(text)).toThrow();
    await expect(parse(text)).rejects.toBeInstanceOf(JsonFault);
  });

  it("reports the position of the error", async () => {
    const { position } = (await parse(`[${long},${long},x]`).catch((error: unknown) => error)) as JsonFault;
    expect(Math.abs((position ?? 0) - 2 * long.length)).toBeLessThan(10);
  });
});
