import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import {
  blobExists,
  blobBelongsTo,
  BlobNotFound,
  BlobRangeError,
  BlobTooLarge,
  type BlobStore,
} from "../../src/platform/blobs/blobs.ts";

const ORG = "018f0000-0000-7000-8000-000000000001";
const OTHER_ORG = "018f0000-0000-7000-8000-000000000002";
const MIB = 1024 * 1024;

/** The tests of every blob store. `everything` lists all that is stored, including drafts. */
export function itIsABlobStore(blobs: () => BlobStore, everything: () => Promise<string[]>): void {
  it("gives back what was put, whole", async () => {
    const content = randomBytes(3 * MIB);
    const stored = await blobs().put(ORG, content, { maxBytes: 4 * MIB });
    expect(stored.size).toBe(content.length);
    expect(stored.sha256).toBe(createHash("sha256").update(content).digest("hex"));
    expect((await blobs().read(stored.key, 4 * MIB)).equals(content)).toBe(true);
    expect(await blobs().size(stored.key)).toBe(content.length);
    expect(await blobExists(blobs(), stored.key)).toBe(true);
  });

  it("creates keys that name the organisation, and only its own", async () => {
    const { key } = await blobs().put(ORG, Buffer.from("x"), { maxBytes: 1 });
    expect(blobBelongsTo(key, ORG)).toBe(true);
    expect(blobBelongsTo(key, OTHER_ORG)).toBe(false);
    expect(blobBelongsTo(`${ORG}/../${OTHER_ORG}`, ORG)).toBe(false);
  });

  it("stores a stream of chunks and an empty one", async () => {
    const chunks = Array.from({ length: 300 }, (_, index) => Buffer.from(`chunk ${index};`));
    const { key } = await blobs().put(ORG, Readable.from(chunks), { maxBytes: MIB });
    expect((await blobs().read(key, MIB)).equals(Buffer.concat(chunks))).toBe(true);
    const empty = await blobs().put(ORG, Readable.from([]), { maxBytes: 0 });
    expect(empty.size).toBe(0);
    expect((await blobs().read(empty.key, 0)).length).toBe(0);
  });

  it("accepts exactly the limit, refuses one byte more, and leaves nothing behind", async () => {
    await blobs().put(ORG, Buffer.alloc(1000), { maxBytes: 1000 });
    const kept = await everything();
    await expect(blobs().put(ORG, Buffer.alloc(1001), { maxBytes: 1000 })).rejects.toThrow(BlobTooLarge);
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(64 * 1024);
      })(),
    );
    await expect(blobs().put(ORG, endless, { maxBytes: MIB })).rejects.toThrow(BlobTooLarge);
    expect(endless.destroyed).toBe(true);
    expect(await everything()).toEqual(kept);
  });

  it("leaves nothing behind when the stream fails", async () => {
    const failing = Readable.from(
      (async function* () {
        yield Buffer.from("half");
        throw new Error("the client went away");
      })(),
    );
    const before = await everything();
    await expect(blobs().put(ORG, failing, { maxBytes: MIB })).rejects.toThrow("the client went away");
    expect(await everything()).toEqual(before);
  });

  it("streams ranges, both bounds included", async () => {
    const { key } = await blobs().put(ORG, Buffer.from("0123456789"), { maxBytes: 100 });
    const read = async (range?: { start: number; end?: number }): Promise<string> => {
      const { stream, size } = await blobs().openRead(key, range);
      expect(size).toBe(10);
      return (await buffer(stream)).toString();
    };
    expect(await read()).toBe("0123456789");
    expect(await read({ start: 2, end: 4 })).toBe("234");
    expect(await read({ start: 7 })).toBe("789");
    expect(await read({ start: 8, end: 1000 })).toBe("89");
    await expect(blobs().openRead(key, { start: 10 })).rejects.toThrow(BlobRangeError);
    await expect(blobs().openRead(key, { start: -1 })).rejects.toThrow(BlobRangeError);
  });

  it("reads no more than the caller accepts", async () => {
    const { key } = await blobs().put(ORG, Buffer.alloc(100), { maxBytes: 100 });
    await expect(blobs().read(key, 99)).rejects.toThrow(BlobTooLarge);
  });

  it("deletes, and does not mind deleting again", async () => {
    const { key } = await blobs().put(ORG, Buffer.from("x"), { maxBytes: 1 });
    await blobs().delete(key);
    await blobs().delete(key);
    expect(await blobExists(blobs(), key)).toBe(false);
    await expect(blobs().read(key, 1)).rejects.toThrow(BlobNotFound);
    await expect(blobs().openRead(key)).rejects.toThrow(BlobNotFound);
    await expect(blobs().size(key)).rejects.toThrow(BlobNotFound);
  });

  it("path-traversal: knows no key that it cannot have made", async () => {
    for (const key of [
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
    ]) {
      await expect(blobs().read(key, MIB)).rejects.toThrow(BlobNotFound);
      await expect(blobs().openRead(key)).rejects.toThrow(BlobNotFound);
      await expect(blobs().delete(key)).rejects.toThrow(BlobNotFound);
      expect(await blobExists(blobs(), key)).toBe(false);
    }
  });

  it("path-traversal: takes nothing but a UUID for the organisation", async () => {
    const before = await everything();
    for (const org of ["..", "../x", "", ORG.toUpperCase().replace("8F", "8G"), `${ORG}/x`]) {
      await expect(blobs().put(org, Buffer.from("x"), { maxBytes: 1 })).rejects.toThrow("UUID");
    }
    expect(await everything()).toEqual(before);
  });

  it("takes many at once", async () => {
    const stored = await Promise.all(
      Array.from({ length: 60 }, (_, index) => blobs().put(ORG, Buffer.from(`blob ${index}`), { maxBytes: 100 })),
    );
    expect(new Set(stored.map(({ key }) => key)).size).toBe(60);
    const texts = await Promise.all(stored.map(async ({ key }) => (await blobs().read(key, 100)).toString()));
    expect(texts).toEqual(stored.map((_, index) => `blob ${index}`));
  });

  it.each([-1, 0, 1, 8 * MIB])("stores what is %i bytes longer than a part", async (more) => {
    const content = randomBytes(8 * MIB + more);
    const chunks = [content.subarray(0, 10), content.subarray(10, 70_000), content.subarray(70_000)];
    const { key, size } = await blobs().put(ORG, Readable.from(chunks), { maxBytes: 16 * MIB });
    expect([size, (await blobs().read(key, 16 * MIB)).equals(content)]).toEqual([content.length, true]);
  });

  it("streams what is longer than a part, in and out", async () => {
    const chunk = randomBytes(300_000);
    const content = Array.from({ length: 70 }, () => chunk);
    const stored = await blobs().put(ORG, Readable.from(content), { maxBytes: 21 * MIB });
    const hash = createHash("sha256").update(Buffer.concat(content)).digest("hex");
    expect(stored).toMatchObject({ size: 21_000_000, sha256: hash });
    const { stream, size } = await blobs().openRead(stored.key);
    expect([
      size,
      createHash("sha256")
        .update(await buffer(stream))
        .digest("hex"),
    ]).toEqual([21_000_000, hash]);
    const end = await blobs().openRead(stored.key, { start: 20_999_998 });
    expect(await buffer(end.stream)).toEqual(chunk.subarray(-2));
    // A reader may stop early without an error.
    for await (const _ of (await blobs().openRead(stored.key)).stream) break;
    const before = await everything();
    await expect(blobs().put(ORG, Readable.from(content), { maxBytes: 20 * MIB })).rejects.toThrow(BlobTooLarge);
    async function* failing() {
      yield* content;
      throw new Error("the client went away");
    }
    await expect(blobs().put(ORG, failing(), { maxBytes: 99 * MIB })).rejects.toThrow("the client went away");
    expect(await everything()).toEqual(before);
  });

  it("lists what is older than a time", async () => {
    const { key } = await blobs().put(ORG, Buffer.from("x"), { maxBytes: 1 });
    const listed = async (olderThan: number) => {
      const keys: string[] = [];
      for await (const batch of blobs().list(new Date(olderThan))) keys.push(...batch);
      return keys;
    };
    expect(await listed(Date.now() + 10_000)).toContain(key);
    expect(await listed(Date.now() - 10_000)).not.toContain(key);
    await blobs().delete(key);
    expect(await listed(Date.now() + 10_000)).not.toContain(key);
  });
}
