import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseBlobPlace } from "../../../src/platform/blobs/blob-place.ts";
import { blobExists, BlobTooLarge, isBlobOutage, openBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { startHttpTarget } from "../../support/http-target.ts";
import { itIsABlobStore } from "../../support/blob-contract.ts";
import { findS3Program, startS3Server, type S3Server } from "../../support/s3-server.ts";

const program = await findS3Program();
const ORG = "018f0000-0000-7000-8000-000000000001";

describe.skipIf("no" in program)(`S3${"no" in program ? `: ${program.no}` : ""}`, { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-s3-"));
  let server: S3Server;
  let blobs: Awaited<ReturnType<typeof open>>;
  const open = (url: string, secret = server.credentials.secretAccessKey) =>
    openBlobStore({
      MILLRACE_BLOB_URL: parseBlobPlace(url),
      MILLRACE_S3_ACCESS_KEY_ID: server.credentials.accessKeyId,
      MILLRACE_S3_SECRET_ACCESS_KEY: secret,
    });

  beforeAll(async () => {
    if ("no" in program) return;
    server = await startS3Server(program.path, folder);
    blobs = await open(server.url);
  });
  afterAll(async () => {
    await blobs?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  // Open uploads are not among them: listing aborts old ones.
  const everything = async () => {
    const keys: string[] = [];
    for await (const batch of blobs.list(new Date(Date.now() + 60_000))) keys.push(...batch);
    return keys;
  };
  itIsABlobStore(() => blobs, everything);

  it("leaves nothing of an upload that fails, and removes those of processes that died", async () => {
    const drafts = () =>
      readdirSync(join(folder, "data", "blobs"), { recursive: true, withFileTypes: true }).filter(
        (entry) => entry.isFile() && entry.parentPath.includes("multipart"),
      );
    let goOn = (): void => undefined;
    const waits = new Promise<void>((resolve) => (goOn = resolve));
    async function* slow(rest: number) {
      yield Buffer.alloc(16 * 1024 * 1024 + 1);
      await waits;
      yield Buffer.alloc(rest);
    }
    // The last part is short: of a long one the server need not read all before it refuses it and closes the connection.
    const putting = blobs.put(ORG, slow(1), { maxBytes: 99_000_000 });
    putting.catch(() => undefined);
    // The two whole parts of what there is: one that is under way while the upload is removed would come back.
    await expect.poll(() => drafts().filter(({ name }) => /^\d+$/.test(name)).length).toBe(2);
    for await (const _ of blobs.list(new Date(Date.now() - 60_000)));
    expect(drafts().length).toBeGreaterThan(0);
    await everything();
    expect(drafts()).toEqual([]);
    goOn();
    await expect(putting).rejects.toThrow("S3 answered 404 NoSuchUpload to UploadPart.");
    const before = await everything();
    await expect(blobs.put(ORG, slow(20_000_000), { maxBytes: 30_000_000 })).rejects.toThrow(BlobTooLarge);
    // Before listing, which would remove them.
    expect([drafts(), await everything()]).toEqual([[], before]);
  });

  it("keeps to its prefix, and to its bucket", async () => {
    const beside = await open(server.url.replace("a/prefix", "b"));
    const { key } = await blobs.put(ORG, Buffer.from("x"), { maxBytes: 1 });
    expect(await blobExists(beside, key)).toBe(false);
    for await (const keys of beside.list(new Date(Date.now() + 60_000))) expect(keys).toEqual([]);
    const nowhere = await open(server.url.replace("//blobs", "//nowhere"));
    await expect(nowhere.put(ORG, Buffer.from("x"), { maxBytes: 1 })).rejects.toThrow();
    await Promise.all([beside.close(), nowhere.close()]);
  });

  it("secret-in-error: says that it was refused, and neither key nor credential", async () => {
    const stranger = await open(server.url, "wrong-secret");
    const failure: unknown = await stranger
      .put(ORG, Buffer.from("x"), { maxBytes: 1 })
      .catch((error: unknown) => error);
    expect(String(failure)).toMatch(/^S3Failed: S3 answered 403 SignatureDoesNotMatch to PUT\.$/);
    await stranger.close();
  });
});

it("says of an answer that passes that the store is away, and of no other one", async () => {
  const target = await startHttpTarget();
  let [status, code] = [503, "SlowDown"];
  target.onEvery((_, response) => {
    response.statusCode = status;
    response.end(`<Error><Code>${code}</Code></Error>`);
  });
  const blobs = await openBlobStore({
    MILLRACE_BLOB_URL: parseBlobPlace(`s3://blobs?endpoint=${target.url}`),
    MILLRACE_S3_ACCESS_KEY_ID: "key",
    MILLRACE_S3_SECRET_ACCESS_KEY: "secret",
  });
  const failed = (): Promise<unknown> =>
    blobs.put(ORG, Buffer.from("x"), { maxBytes: 1 }).then(
      () => null,
      (error: unknown) => error,
    );
  expect(isBlobOutage(await failed())).toBe(true);
  [status, code] = [403, "AccessDenied"];
  expect(isBlobOutage(await failed())).toBe(false);
  await target.close();
  expect(isBlobOutage(await failed())).toBe(true);
  await blobs.close();
});
