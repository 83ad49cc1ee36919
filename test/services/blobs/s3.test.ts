import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseBlobPlace } from "../../../src/platform/blobs/blob-place.ts";
import { blobExists, BlobTooLarge, isBlobOutage, openBlobStore } from "../../../src/platform/blobs/blobs.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
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

  // Without open uploads, because listing aborts old ones.
  const everything = async () => {
    const keys: string[] = [];
    for await (const batch of blobs.list(new Date(Date.now() + 60_000))) keys.push(...batch);
    return keys;
  };
  itIsABlobStore(() => blobs, everything);

  it("leaves nothing of an upload that fails, and removes uploads of processes that died", async () => {
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
    // The last part is short, because a server may close the connection before it has read a long one.
    const putting = blobs.put(ORG, slow(1), { maxBytes: 99_000_000 });
    putting.catch(() => undefined);
    // Waits for both complete parts: a part in flight would reappear after the upload is deleted.
    await expect.poll(() => drafts().filter(({ name }) => /^\d+$/.test(name)).length).toBe(2);
    for await (const _ of blobs.list(new Date(Date.now() - 60_000)));
    expect(drafts().length).toBeGreaterThan(0);
    await everything();
    expect(drafts()).toEqual([]);
    goOn();
    await expect(putting).rejects.toThrow("S3 returned 404 NoSuchUpload for UploadPart.");
    const before = await everything();
    await expect(blobs.put(ORG, slow(20_000_000), { maxBytes: 30_000_000 })).rejects.toThrow(BlobTooLarge);
    // Checked before listing, which would delete drafts.
    expect([drafts(), await everything()]).toEqual([[], before]);
  });

  it("stays within its prefix and its bucket", async () => {
    const beside = await open(server.url.replace("a/prefix", "b"));
    const { key } = await blobs.put(ORG, Buffer.from("x"), { maxBytes: 1 });
    expect(await blobExists(beside, key)).toBe(false);
    for await (const keys of beside.list(new Date(Date.now() + 60_000))) expect(keys).toEqual([]);
    const nowhere = await open(server.url.replace("//blobs", "//nowhere"));
    await expect(nowhere.put(ORG, Buffer.from("x"), { maxBytes: 1 })).rejects.toThrow();
    await Promise.all([beside.close(), nowhere.close()]);
  });

  it("secret-in-error: reports the refusal without key or credential", async () => {
    const stranger = await open(server.url, "wrong-secret");
    const failure: unknown = await stranger
      .put(ORG, Buffer.from("x"), { maxBytes: 1 })
      .catch((error: unknown) => error);
    expect(String(failure)).toMatch(/^S3Failed: S3 returned 403 SignatureDoesNotMatch for PUT\.$/);
    await stranger.close();
  });
});

/** A store whose server is this target. */
const storeAt = ({ url }: HttpTarget) =>
  openBlobStore({
    MILLRACE_BLOB_URL: parseBlobPlace(`s3://blobs/a?endpoint=${url}`),
    MILLRACE_S3_ACCESS_KEY_ID: "key",
    MILLRACE_S3_SECRET_ACCESS_KEY: "secret",
  });

it("reads every page of a list, and aborts no upload of another program in the bucket", async () => {
  const target = await startHttpTarget();
  const [one, two, stale] = [1, 2, 9].map((at) => `${ORG}/018f0000-0000-7000-8000-00000000000${at}`);
  const upload = (key = ""): string =>
    `<Upload><Key>a/${key}</Key><UploadId>1</UploadId><Initiated>2020-01-01T00:00:00Z</Initiated></Upload>`;
  const page = (key = "", rest = ""): string =>
    `<Contents><Key>a/${key}</Key><LastModified>2020-01-01T00:00:00Z</LastModified></Contents>${rest}`;
  target.onEvery(({ method, url }, response) => {
    if (method === "DELETE") return void response.writeHead(204).end();
    if (url.includes("uploads")) return void response.end(upload("notes.txt") + upload(stale));
    const more = "<IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken>";
    response.end(url.includes("continuation-token=more") ? page(two) : page(one, more));
  });
  const blobs = await storeAt(target);
  const listed: string[] = [];
  for await (const keys of blobs.list(new Date())) listed.push(...keys);
  const aborted = target.requests.filter(({ method }) => method === "DELETE").map(({ path }) => path);
  expect({ listed, aborted }).toEqual({ listed: [one, two], aborted: [`/blobs/a/${stale}`] });
  await Promise.all([target.close(), blobs.close()]);
});

it("fails an upload in parts that the server refuses with status 200", async () => {
  const target = await startHttpTarget();
  target.onEvery(({ method, url }, response) => {
    if (method === "PUT") response.setHeader("etag", "1");
    if (url.includes("uploads")) response.end("<UploadId>1</UploadId>");
    else response.end(method === "POST" ? "<Error><Code>InternalError</Code></Error>" : "");
  });
  const blobs = await storeAt(target);
  async function* long() {
    yield Buffer.alloc(8 * 1024 * 1024 + 1);
  }
  await expect(blobs.put(ORG, long(), { maxBytes: 99_000_000 })).rejects.toThrow("200 InternalError");
  await Promise.all([target.close(), blobs.close()]);
});

it("reports the blob store as unavailable only for temporary errors", async () => {
  const target = await startHttpTarget();
  let [status, code] = [503, "SlowDown"];
  target.onEvery((_, response) => {
    response.statusCode = status;
    response.end(`<Error><Code>${code}</Code></Error>`);
  });
  const blobs = await storeAt(target);
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
