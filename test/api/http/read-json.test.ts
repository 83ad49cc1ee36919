import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { readJson } from "../../../src/api/http/read-json.ts";
import type { JsonBody } from "../../../src/api/http/read-json.ts";

/** Reads a body that arrives in pieces of so many bytes. */
function read(text: string, size = text.length): Promise<JsonBody> {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );
  const req = Object.assign(Readable.from(pieces), {
    headers: { "content-type": "application/json", "content-length": String(bytes.length) },
  });
  return readJson(req as unknown as IncomingMessage, { limit: 10_000_000 });
}

const refusal = { issues: [{ loc: ["body"], type: "json_too_complex" }] };

describe("a JSON body", () => {
  it.each([1, 2, 3, 7, 1000])("is the same in pieces of %i bytes, for any content of strings", async (size) => {
    const value = { "[[\\": `"${'[{,\\"'.repeat(300)}\\`, é: ["\\", '"', { "": "😀" }], plain: "[".repeat(300) };
    expect((await read(JSON.stringify(value), size)).value).toEqual(value);
  });

  it.each([1, 2, 3, 7, 1000])("is refused in pieces of %i bytes where it nests too deeply", async (size) => {
    const nested = (depth: number) => `["\\\\","\\"",${"[".repeat(depth)}${"]".repeat(depth)}]`;
    await expect(read(nested(100), size)).rejects.toMatchObject(refusal);
    expect((await read(nested(99), size)).value).toEqual(JSON.parse(nested(99)));
  });

  it("huge-list: is refused where it has more values than the published limit", async () => {
    const members = (count: number) => `{${Array.from({ length: count }, (_, n) => `"${n}":0`).join(",")}}`;
    await expect(read(members(500_001), 65_536)).rejects.toMatchObject(refusal);
    expect(Object.keys((await read(members(500_000), 65_536)).value as object)).toHaveLength(500_000);
  });

  it("yields to the event loop between the steps of reading a long one", async () => {
    let iterations = 0;
    let next = setImmediate(function count() {
      iterations++;
      next = setImmediate(count);
    });
    await read(JSON.stringify({ text: "x".repeat(1_000_000) }));
    clearImmediate(next);
    expect(iterations).toBeGreaterThanOrEqual(3);
  });
});
