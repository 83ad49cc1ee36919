import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { INLINE_VALUE_BYTES, MAX_VALUE_BYTES, type Json } from "../../src/domain/json.ts";
import {
  blobExists,
  BlobNotFound,
  createFileBlobStore,
  loadValue,
  storeValue,
} from "../../src/platform/blobs/blobs.ts";
import { itIsABlobStore } from "../support/blob-contract.ts";

const ORG = "018f0000-0000-7000-8000-000000000001";
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
  itIsABlobStore(
    () => blobs,
    () => filesUnder(root),
  );

  it("path-traversal: neither reads nor deletes files outside its blobs", async () => {
    await writeFile(join(root, "secret"), "secret");
    await expect(blobs.read(`${ORG}/../../secret`, MIB)).rejects.toThrow(BlobNotFound);
    await expect(blobs.delete(`${ORG}/../../secret`)).rejects.toThrow(BlobNotFound);
    for await (const keys of blobs.list(new Date(Date.now() + 10_000))) expect(keys).toEqual([]);
    expect(existsSync(join(root, "secret"))).toBe(true);
  });

  it("deletes temporary files of killed processes when it starts, and no others", async () => {
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
    expect(await blobExists(again, key)).toBe(true);
  });

  it("makes blobs unreadable for other users of the machine", async () => {
    await blobs.put(ORG, Buffer.from("x"), { maxBytes: 1 });
    const [name] = (await readdir(root, { recursive: true })).filter(
      (path) => /-[0-9a-f]{12}$/.test(path) && path.length > 80,
    );
    expect((await stat(join(root, name ?? ""))).mode & 0o077).toBe(0);
  });
});

describe("storeValue", () => {
  /** A string whose JSON text has exactly this many bytes. */
  const ofSize = (bytes: number): string => "x".repeat(bytes - 2);

  it.each<[string, Json]>([
    ["null", null],
    ["false", false],
    ["an empty string", ""],
    ["nested", { a: [1, { b: null }] }],
  ])("stores a short value inline: %s", async (_, value) => {
    const stored = await storeValue(blobs, ORG, value);
    expect(stored).toEqual({ v: value });
    expect(await loadValue(blobs, stored)).toEqual(value);
  });

  it("oversized value: stores values above the inline limit by reference", async () => {
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

  it("oversized value: rejects values above the maximum as not retryable", async () => {
    expect(await storeValue(blobs, ORG, ofSize(MAX_VALUE_BYTES))).toHaveProperty("ref.size", MAX_VALUE_BYTES);
    await expect(storeValue(blobs, ORG, ofSize(MAX_VALUE_BYTES + 1))).rejects.toMatchObject({
      name: "NodeFailure",
      code: "value_too_large",
      retryable: false,
    });
  });

  it("deep-json: rejects a value that is nested too deeply to be written", async () => {
    const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as Json;
    await expect(storeValue(blobs, ORG, deep)).rejects.toMatchObject({ code: "value_too_deep", retryable: false });
  });

  it("proto-pollution: keeps a key named __proto__ a plain key", async () => {
    const value = JSON.parse(`{"__proto__":{"polluted":1},"long":"${"x".repeat(INLINE_VALUE_BYTES)}"}`) as Json;
    const loaded = (await loadValue(blobs, await storeValue(blobs, ORG, value))) as object;
    expect(Object.keys(loaded)).toEqual(["__proto__", "long"]);
    expect(loaded).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("polluted");
  });
});
