import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileBlobStore, type BlobStore } from "../../src/platform/blobs/blobs.ts";
import { createSealedStore } from "../../src/platform/blobs/sealed-store.ts";
import { itIsABlobStore } from "../support/blob-contract.ts";

const ORG = "018f0000-0000-7000-8000-000000000001";
const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;
const HEAD = 48;
const dataKey = { key_id: "018f0000-0000-7000-8000-00000000000a", key: randomBytes(32) };
const keys = {
  current: async () => dataKey,
  find: async (id: string) => (id === dataKey.key_id ? dataKey : undefined),
};

let root: string;
let plain: Awaited<ReturnType<typeof createFileBlobStore>>;
let blobs: BlobStore;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-blobs-"));
  plain = await createFileBlobStore(root);
  blobs = createSealedStore(plain, keys, { seals: true });
});
afterEach(async () => {
  plain.close();
  await rm(root, { recursive: true });
});

async function files(): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe("an encrypted blob store", () => {
  itIsABlobStore(() => blobs, files);

  it("has neither content nor key in its files", async () => {
    await blobs.put(ORG, Buffer.from("nobody reads this ".repeat(10_000)), { maxBytes: MIB });
    for (const file of await files()) {
      const bytes = await readFile(file);
      expect([bytes.includes("nobody"), bytes.includes(dataKey.key)]).toEqual([false, false]);
    }
  });

  it.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])("streams every range of %i bytes", async (length) => {
    const content = randomBytes(length);
    const { key } = await blobs.put(ORG, content, { maxBytes: MIB });
    expect(await blobs.size(key)).toBe(length);
    expect(await buffer((await blobs.openRead(key)).stream)).toEqual(content);
    for (const start of [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 7].filter((at) => at < length))
      for (const end of [start, start + 1, start + CHUNK, length - 1]) {
        const { stream, size } = await blobs.openRead(key, { start, end });
        expect([size, (await buffer(stream)).equals(content.subarray(start, end + 1))]).toEqual([length, true]);
      }
  });

  it("rejects a blob that was changed, cut, moved, or encrypted under another key", async () => {
    const content = randomBytes(3 * CHUNK);
    const { key } = await blobs.put(ORG, content, { maxBytes: MIB });
    const [file = ""] = (await files()).filter((name) => name.endsWith(key.split("/")[1] ?? ""));
    const stored = await readFile(file);
    const sealed = CHUNK + 28;
    const swapped = Buffer.concat([
      stored.subarray(0, HEAD),
      stored.subarray(HEAD + sealed, HEAD + 2 * sealed),
      stored.subarray(HEAD, HEAD + sealed),
      stored.subarray(HEAD + 2 * sealed),
    ]);
    const changed = Buffer.from(stored);
    changed[HEAD + sealed + 20] = (changed[HEAD + sealed + 20] ?? 0) ^ 1;
    for (const wrong of [changed, swapped, stored.subarray(0, HEAD + 2 * sealed), stored.subarray(0, HEAD)]) {
      await writeFile(file, wrong);
      await expect(blobs.read(key, MIB)).rejects.toThrow();
      await expect((async () => buffer((await blobs.openRead(key)).stream))()).rejects.toThrow();
    }
    await writeFile(file, stored);
    const other = createSealedStore(plain, { ...keys, find: async () => undefined }, { seals: true });
    await expect(other.read(key, MIB)).rejects.toThrow("does not exist");
    expect((await blobs.read(key, MIB)).equals(content)).toBe(true);
  });

  it("reads blobs stored in clear text, and with `read` stores new ones in clear text", async () => {
    const before = await plain.put(ORG, Buffer.from("0123456789".repeat(10)), { maxBytes: 100 });
    const empty = await plain.put(ORG, Buffer.alloc(0), { maxBytes: 100 });
    expect((await blobs.read(before.key, 100)).toString()).toBe("0123456789".repeat(10));
    expect(await buffer((await blobs.openRead(before.key, { start: 8, end: 11 })).stream)).toEqual(Buffer.from("8901"));
    expect([await blobs.size(before.key), await blobs.size(empty.key)]).toEqual([100, 0]);
    const { key } = await blobs.put(ORG, Buffer.from("sealed"), { maxBytes: 100 });
    const reading = createSealedStore(plain, keys, { seals: false });
    expect((await reading.read(key, 100)).toString()).toBe("sealed");
    const later = await reading.put(ORG, Buffer.from("plain"), { maxBytes: 100 });
    expect((await plain.read(later.key, 100)).toString()).toBe("plain");
  });
});
