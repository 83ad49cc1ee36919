import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Json } from "../../src/domain/json.ts";
import { INLINE_VALUE_BYTES, MAX_VALUE_BYTES } from "../../src/domain/json.ts";
import {
  blobBelongsTo,
  BlobNotFound,
  BlobRangeError,
  BlobTooLarge,
  createFileBlobStore,
  loadValue,
  storeValue,
} from "../../src/platform/blobs/blobs.ts";

const ORG = "018f0000-0000-7000-8000-000000000001";
const OTHER_ORG = "018f0000-0000-7000-8000-000000000002";
const MIB = 1024 * 1024;

let root: string;
let blobs: Awaited<ReturnType<typeof createFileBlobStore>>;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-blobs-"));
  blobs = await createFileBlobStore(root);
});

afterEach(async () => {
  blobs.close();
  await rm(root, { recursive: true });
});

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

describe("file blob store", () => {
  it("gives back what was put, whole", async () => {
    const content = randomBytes(3 * MIB);
    const stored = await blobs.put(ORG, content, { maxBytes: 4 * MIB });
    expect(stored.size).toBe(content.length);
    expect(stored.sha256).toBe(createHash("sha256").update(content).digest("hex"));
    expect((await blobs.read(stored.key, 4 * MIB)).equals(content)).toBe(true);
    expect(await blobs.size(stored.key)).toBe(content.length);
    expect(await blobs.exists(stored.key)).toBe(true);
  });

  it("creates keys that name the organisation, and only its own", async () => {
    const { key } = await blobs.put(ORG, Buffer.from("x"), { maxBytes: 1 });
    expect(blobBelongsTo(key, ORG)).toBe(true);
    expect(blobBelongsTo(key, OTHER_ORG)).toBe(false);
    expect(blobBelongsTo(`${ORG}/../${OTHER_ORG}`, ORG)).toBe(false);
  });

  it("stores a stream of chunks and an empty one", async () => {
    const chunks = Array.from({ length: 300 }, (_, index) => Buffer.from(`chunk ${index};`));
    const { key } = await blobs.put(ORG, Readable.from(chunks), { maxBytes: MIB });
    expect((await blobs.read(key, MIB)).equals(Buffer.concat(chunks))).toBe(true);
    const empty = await blobs.put(ORG, Readable.from([]), { maxBytes: 0 });
    expect(empty.size).toBe(0);
    expect((await blobs.read(empty.key, 0)).length).toBe(0);
  });

  it("accepts exactly the limit, refuses one byte more, and leaves nothing behind", async () => {
    await blobs.put(ORG, Buffer.alloc(1000), { maxBytes: 1000 });
    const kept = await filesUnder(root);
    await expect(blobs.put(ORG, Buffer.alloc(1001), { maxBytes: 1000 })).rejects.toThrow(BlobTooLarge);
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(64 * 1024);
      })(),
    );
    await expect(blobs.put(ORG, endless, { maxBytes: MIB })).rejects.toThrow(BlobTooLarge);
    expect(endless.destroyed).toBe(true);
    expect(await filesUnder(root)).toEqual(kept);
  });

  it("leaves nothing behind when the stream fails", async () => {
    const failing = Readable.from(
      (async function* () {
        yield Buffer.from("half");
        throw new Error("the client went away");
      })(),
    );
    await expect(blobs.put(ORG, failing, { maxBytes: MIB })).rejects.toThrow("the client went away");
    expect(await filesUnder(root)).toEqual([]);
  });

  it("streams ranges, both bounds included", async () => {
    const { key } = await blobs.put(ORG, Buffer.from("0123456789"), { maxBytes: 100 });
    const read = async (range?: { start: number; end?: number }): Promise<string> => {
      const { stream, size } = await blobs.openRead(key, range);
      expect(size).toBe(10);
      return (await buffer(stream)).toString();
    };
    expect(await read()).toBe("0123456789");
    expect(await read({ start: 2, end: 4 })).toBe("234");
    expect(await read({ start: 7 })).toBe("789");
    expect(await read({ start: 8, end: 1000 })).toBe("89");
    await expect(blobs.openRead(key, { start: 10 })).rejects.toThrow(BlobRangeError);
    await expect(blobs.openRead(key, { start: -1 })).rejects.toThrow(BlobRangeError);
  });

  it("reads no more than the caller accepts", async () => {
    const { key } = await blobs.put(ORG, Buffer.alloc(100), { maxBytes: 100 });
    await expect(blobs.read(key, 99)).rejects.toThrow(BlobTooLarge);
  });

  it("deletes, and does not mind deleting again", async () => {
    const { key } = await blobs.put(ORG, Buffer.from("x"), { maxBytes: 1 });
    await blobs.delete(key);
    await blobs.delete(key);
    expect(await blobs.exists(key)).toBe(false);
    await expect(blobs.read(key, 1)).rejects.toThrow(BlobNotFound);
    await expect(blobs.openRead(key)).rejects.toThrow(BlobNotFound);
    await expect(blobs.size(key)).rejects.toThrow(BlobNotFound);
  });

  it.each([
    "",
    "x",
    "../secret",
    `${ORG}/../../secret`,
    `${ORG}/..`,
    `${ORG}/`,
    `/${ORG}/${ORG}`,
    `${ORG}/${ORG}/${ORG}`,
    `${ORG}/${ORG}\n`,
    `${ORG}/${ORG}\0`,
    `${ORG}\\${ORG}`,
    `${ORG}/%2e%2e%2f`,
    `${ORG.toUpperCase()}x/${ORG}`,
    "tmp/018f0000-0000-7000-8000-000000000001",
    "x".repeat(100_000),
  ])("path-traversal: does not know the key %j", async (key) => {
    await writeFile(join(root, "secret"), "secret");
    await expect(blobs.read(key, MIB)).rejects.toThrow(BlobNotFound);
    await expect(blobs.openRead(key)).rejects.toThrow(BlobNotFound);
    await expect(blobs.delete(key)).rejects.toThrow(BlobNotFound);
    expect(await blobs.exists(key)).toBe(false);
    expect(existsSync(join(root, "secret"))).toBe(true);
  });

  it("path-traversal: takes nothing but a UUID for the organisation", async () => {
    for (const org of ["..", "../x", "", ORG.toUpperCase().replace("8F", "8G"), `${ORG}/x`]) {
      await expect(blobs.put(org, Buffer.from("x"), { maxBytes: 1 })).rejects.toThrow("UUID");
    }
    expect(await filesUnder(root)).toEqual([]);
  });

  it("removes the temporary files of killed processes when it starts, and no others", async () => {
    const temporary = join(root, "tmp");
    await mkdir(temporary, { recursive: true });
    await writeFile(join(temporary, "stale"), "half of something");
    await writeFile(join(temporary, "fresh"), "another process is writing this");
    const old = new Date(Date.now() - 2 * 60 * 60 * 1000);
    await utimes(join(temporary, "stale"), old, old);
    const { key } = await blobs.put(ORG, Buffer.from("kept"), { maxBytes: 10 });
    const again = await createFileBlobStore(root);
    again.close();
    expect(await readdir(temporary)).toEqual(["fresh"]);
    expect(await again.exists(key)).toBe(true);
  });

  it("keeps blobs from other users of the machine", async () => {
    await blobs.put(ORG, Buffer.from("x"), { maxBytes: 1 });
    const [name] = (await readdir(root, { recursive: true })).filter(
      (path) => /-[0-9a-f]{12}$/.test(path) && path.length > 80,
    );
    expect((await stat(join(root, name ?? ""))).mode & 0o077).toBe(0);
  });

  it("takes many at once", async () => {
    const stored = await Promise.all(
      Array.from({ length: 60 }, (_, index) => blobs.put(ORG, Buffer.from(`blob ${index}`), { maxBytes: 100 })),
    );
    expect(new Set(stored.map(({ key }) => key)).size).toBe(60);
    const texts = await Promise.all(stored.map(async ({ key }) => (await blobs.read(key, 100)).toString()));
    expect(texts).toEqual(stored.map((_, index) => `blob ${index}`));
  });
});

describe("values", () => {
  /** A string whose JSON text takes exactly so many bytes. */
  const ofSize = (bytes: number): string => "x".repeat(bytes - 2);

  it.each<[string, Json]>([
    ["null", null],
    ["false", false],
    ["an empty string", ""],
    ["nested", { a: [1, { b: null }] }],
  ])("keeps a short value as it is: %s", async (_, value) => {
    const stored = await storeValue(blobs, ORG, value);
    expect(stored).toEqual({ v: value });
    expect(await loadValue(blobs, stored)).toEqual(value);
  });

  it("oversized value: refers to what is above the inline limit", async () => {
    expect(await storeValue(blobs, ORG, ofSize(INLINE_VALUE_BYTES))).toHaveProperty("v");
    const value = ofSize(INLINE_VALUE_BYTES + 1);
    const stored = await storeValue(blobs, ORG, value);
    expect(stored).toEqual({ ref: { $blob: expect.any(String), size: INLINE_VALUE_BYTES + 1 } });
    expect(await loadValue(blobs, stored)).toBe(value);
  });

  it("oversized value: counts bytes, not characters", async () => {
    const value = "é".repeat(INLINE_VALUE_BYTES / 2);
    const stored = await storeValue(blobs, ORG, value);
    expect(stored).toEqual({ ref: { $blob: expect.any(String), size: INLINE_VALUE_BYTES + 2 } });
    expect(await loadValue(blobs, stored)).toBe(value);
  });

  it("oversized value: refuses once and for all what no run may carry", async () => {
    expect(await storeValue(blobs, ORG, ofSize(MAX_VALUE_BYTES))).toHaveProperty("ref.size", MAX_VALUE_BYTES);
    await expect(storeValue(blobs, ORG, ofSize(MAX_VALUE_BYTES + 1))).rejects.toMatchObject({
      name: "NodeFailure",
      code: "value_too_large",
      retryable: false,
    });
  });

  it("deep-json: refuses what is nested too deeply to be written", async () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as Json;
    await expect(storeValue(blobs, ORG, deep)).rejects.toMatchObject({ code: "value_too_deep", retryable: false });
  });

  it("proto-pollution: a key called __proto__ stays a key", async () => {
    const value = JSON.parse(`{"__proto__":{"polluted":1},"long":"${"x".repeat(INLINE_VALUE_BYTES)}"}`) as Json;
    const loaded = (await loadValue(blobs, await storeValue(blobs, ORG, value))) as object;
    expect(Object.keys(loaded)).toEqual(["__proto__", "long"]);
    expect(loaded).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("polluted");
  });
});
