import { fromBufferPromise } from "yauzl";
import { expect, it } from "vitest";
import { zipEntries, zipOf } from "../../src/platform/zip.ts";

const files = [
  { path: "a/größe.txt", content: Buffer.from("first") },
  { path: "b.bin", content: Buffer.alloc(1000, 7) },
  { path: "empty", content: Buffer.alloc(0) },
];

it("a written ZIP archive can be read back file by file", async () => {
  const { parts, offsets } = zipOf(files);
  const archive = Buffer.concat(parts);
  const found: { readonly path: string; readonly kind: string; readonly content: Buffer }[] = [];
  for await (const { path, kind, read } of zipEntries(archive)) found.push({ path, kind, content: await read() });
  expect(found).toEqual(files.map((file) => ({ ...file, kind: "file" })));
  for (const [at, { content }] of files.entries())
    expect(archive.subarray(offsets[at], (offsets[at] ?? 0) + content.length)).toEqual(content);
  // Version 2.0, created on Unix, because only then the upper half of the attributes is a mode.
  for await (const { versionMadeBy } of (await fromBufferPromise(archive)).eachEntry())
    expect(versionMadeBy).toBe(0x0314);
});
