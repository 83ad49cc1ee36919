import { createHash } from "node:crypto";
import { plainHost } from "../fetch/address-policy.ts";
import { FetchFailed } from "../fetch/guarded-fetch-errors.ts";
import {
  createGuardedFetch,
  type FetchLimits,
  type GuardedResponse,
  type GuardedStream,
  type StreamRequest,
} from "../fetch/guarded-fetch.ts";
import { elementsOf, textOf } from "../s3/answers.ts";
import { portOf } from "../fetch/guarded-fetch-connect.ts";
import type { CredentialSource } from "../s3/credentials.ts";
import { bucketAddress, signed, type S3Request } from "../s3/signed-request.ts";
import { waitAfter } from "../s3/try-again.ts";
import { wholeOf } from "../whole.ts";
import type { BlobPlace } from "./blob-place.ts";
import { blobExists, isBlobKey, withKeys } from "./keys.ts";
import { measuring } from "./measuring.ts";
import {
  BlobNotFound,
  BlobRangeError,
  BlobsUnavailable,
  BlobTooLarge,
  type BlobRange,
  type BlobStore,
  type ObjectStore,
} from "./types.ts";

const MIB = 1024 * 1024;
/** Longer uploads are sent in parts of this length (bytes), which is also the most that an upload buffers. */
const PART_BYTES = 8 * MIB;
/** The initial buffer of an upload (bytes), because most uploads are short. */
const FIRST_BYTES = 64 * 1024;
const ATTEMPTS = 4;
/** Time limit of one request: a part, or a page of a list. */
const LIMITS: Partial<FetchLimits> = { headersMs: 60_000, bodyMs: 60_000, totalMs: 300_000, responseBytes: 8 * MIB };
/** Downloads have no time limit, because they last as long as their readers do. */
const UNLIMITED: Partial<FetchLimits> = { ...LIMITS, totalMs: Infinity, responseBytes: Number.MAX_SAFE_INTEGER };

/** Thrown when S3 refuses or fails. The message may be logged: it contains no key of a blob and no credential. */
class S3Failed extends Error {
  readonly status: number;

  constructor(action: string, status: number, code: string) {
    super(`S3 returned ${status} ${code} for ${action}.`);
    this.name = "S3Failed";
    this.status = status;
  }
}

/** A blob store in a bucket of S3 or of a compatible server. Closing it closes the source of its credentials. */
export function createS3BlobStore(
  place: Extract<BlobPlace, { kind: "s3" }>,
  credentials: CredentialSource,
): BlobStore & ObjectStore {
  return withKeys(createS3Objects(place, credentials, isBlobKey));
}

/** A store for objects of any name that `accepts` allows. */
export function createS3Objects(
  place: Extract<BlobPlace, { kind: "s3" }>,
  credentials: CredentialSource,
  accepts: (name: string) => boolean,
): ObjectStore {
  const base = bucketAddress(place, place.bucket);
  const root = place.prefix === "" ? "" : `${place.prefix}/`;
  // The host is the operator's choice, so it may be a private one.
  const guarded = createGuardedFetch({ allow: [hostOf(base)], limits: LIMITS });

  /** Sends a request until the response is anything but a temporary error. */
  async function repeated<Answer extends { readonly status: number }>(
    request: S3Request,
    send: (request: StreamRequest) => Promise<Answer>,
    drop: (answer: Answer) => void = () => undefined,
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const access = { ...place, ...(await credentials.get()) };
        const answer = await send(await signed(base, access, request));
        if (attempt === ATTEMPTS || (answer.status < 500 && answer.status !== 429)) return answer;
        drop(answer);
      } catch (error) {
        if (attempt === ATTEMPTS || !(error instanceof FetchFailed) || !error.retryable) throw error;
      }
      await waitAfter(attempt);
    }
  }

  /** Throws S3Failed for an unexpected response; BlobNotFound if it is a 404 to a HEAD request. */
  async function call(
    action: string,
    request: S3Request,
    expected: readonly number[] = [200],
  ): Promise<GuardedResponse> {
    const answer = await repeated(request, guarded.fetch);
    if (expected.includes(answer.status)) return answer;
    throw answer.status === 404 && action === "HEAD" ? new BlobNotFound() : failure(action, answer);
  }

  const pathOf = (key: string): string => {
    if (!accepts(key)) throw new BlobNotFound();
    return `${root}${key}`;
  };

  async function size(key: string): Promise<number> {
    const { headers } = await call("HEAD", { method: "HEAD", path: pathOf(key) });
    return Number(headers["content-length"]);
  }

  async function open(key: string, range?: BlobRange): Promise<GuardedStream & { readonly size: number }> {
    if (range !== undefined && range.start < 0) throw new BlobRangeError(await size(key));
    const headers = range ? { range: `bytes=${range.start}-${range.end ?? ""}` } : {};
    const answer = await repeated(
      { method: "GET", path: pathOf(key), headers },
      (request) => guarded.open({ ...request, limits: UNLIMITED }),
      ({ body }) => body.destroy(),
    );
    if (answer.status === 200 || answer.status === 206) {
      const total = answer.headers["content-range"]?.split("/")[1] ?? answer.headers["content-length"];
      return { ...answer, size: Number(total) };
    }
    answer.body.destroy();
    if (answer.status === 404) throw new BlobNotFound();
    if (answer.status === 416) throw new BlobRangeError(await size(key));
    throw failure("GET", { ...answer, body: Buffer.alloc(0) });
  }

  async function uploadParts(path: string, first: Buffer, others: AsyncIterable<Buffer>): Promise<void> {
    const created = await call("CreateMultipartUpload", { method: "POST", path, query: { uploads: "" } });
    const uploadId = textOf(created.body.toString(), "UploadId") ?? "";
    try {
      const tags: string[] = [];
      const upload = async (body: Buffer) => {
        const query = { partNumber: String(tags.length + 1), uploadId };
        const { headers } = await call("UploadPart", { method: "PUT", path, query, body });
        tags.push(headers["etag"] ?? "");
      };
      await upload(first);
      for await (const part of others) await upload(part);
      const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`);
      const done = await repeated({ method: "POST", path, query: { uploadId }, body }, guarded.fetch);
      // A failure may come with a success status; and a retried request does not find the upload if the first attempt succeeded.
      const failed = done.status !== 200 || textOf(done.body.toString(), "Code") !== undefined;
      if (failed && !(done.status === 404 && (await blobExists({ size }, path.slice(root.length))))) {
        throw failure("CompleteMultipartUpload", done);
      }
    } catch (error) {
      await abort(path, uploadId).catch(() => undefined);
      throw error;
    }
  }

  async function abort(path: string, uploadId: string): Promise<void> {
    await call("AbortMultipartUpload", { method: "DELETE", path, query: { uploadId } }, [204, 404]);
  }

  /** Unfinished uploads of processes that died; S3 keeps and charges for their parts, although they are not blobs. */
  async function abortUploads(olderThan: Date): Promise<void> {
    let marker: Record<string, string> = {};
    do {
      const query = { uploads: "", prefix: root, ...marker };
      const page = (await call("list", { method: "GET", path: "", query })).body.toString();
      for (const upload of elementsOf(page, "Upload")) {
        const [path = "", id = "", startedAt = ""] = ["Key", "UploadId", "Initiated"].map((name) =>
          textOf(upload, name),
        );
        if (new Date(startedAt) < olderThan && accepts(path.slice(root.length))) await abort(path, id);
      }
      const [key, id] = [textOf(page, "NextKeyMarker"), textOf(page, "NextUploadIdMarker")];
      marker = textOf(page, "IsTruncated") === "true" && key && id ? { "key-marker": key, "upload-id-marker": id } : {};
    } while (marker["key-marker"] !== undefined);
  }

  async function* listed(olderThanMs: number): AsyncGenerator<string[]> {
    let token: string | undefined;
    do {
      const query = { "list-type": "2", prefix: root, ...(token ? { "continuation-token": token } : {}) };
      const page = (await call("list", { method: "GET", path: "", query })).body.toString();
      const old = elementsOf(page, "Contents").filter(
        (each) => new Date(textOf(each, "LastModified") ?? "").getTime() < olderThanMs,
      );
      yield old.map((each) => (textOf(each, "Key") ?? "").slice(root.length)).filter(accepts);
      token = textOf(page, "IsTruncated") === "true" ? textOf(page, "NextContinuationToken") : undefined;
    } while (token);
  }

  return {
    async putAs(name, content, { maxBytes }) {
      const path = pathOf(name);
      if (content instanceof Uint8Array) {
        if (content.byteLength > maxBytes) throw new BlobTooLarge(maxBytes);
        await call("PUT", { method: "PUT", path, body: content });
        return { size: content.byteLength, sha256: createHash("sha256").update(content).digest("hex") };
      }
      const { bytes, measured } = measuring(content, maxBytes);
      const parts = partsOf(bytes);
      // Closes the content as well, even if a step fails.
      try {
        const first = (await parts.next()).value ?? Buffer.alloc(0);
        if (first.byteLength < PART_BYTES) await call("PUT", { method: "PUT", path, body: first });
        else await uploadParts(path, first, parts);
      } finally {
        await parts.return(undefined);
      }
      return measured();
    },

    async openRead(key, range) {
      const { body, size: whole } = await open(key, range);
      return { stream: body, size: whole };
    },

    async read(key, maxBytes) {
      const { body, size: whole } = await open(key);
      if (whole > maxBytes) {
        body.destroy();
        throw new BlobTooLarge(maxBytes);
      }
      return wholeOf(body);
    },

    size,

    async delete(key) {
      await call("DELETE", { method: "DELETE", path: pathOf(key) }, [200, 204, 404]);
    },

    async *list(olderThan) {
      await abortUploads(olderThan);
      yield* listed(olderThan.getTime());
    },

    keys: () => listed(Infinity),
    removePartial: abortUploads,

    async close() {
      await Promise.all([guarded.close(), credentials.close()]);
    },
  };
}

function hostOf(url: URL): string {
  const host = plainHost(url.hostname);
  return `${host.includes(":") ? `[${host}]` : host}:${portOf(url)}`;
}

/** Parts of PART_BYTES, except the last. Each part is overwritten by the next one. */
async function* partsOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, undefined> {
  let part = Buffer.allocUnsafeSlow(FIRST_BYTES);
  let length = 0;
  for await (let chunk of content) {
    while (chunk.byteLength > 0) {
      const taken = chunk.subarray(0, PART_BYTES - length);
      if (length + taken.byteLength > part.byteLength) {
        const larger = Math.max(length + taken.byteLength, 2 * part.byteLength);
        part = Buffer.concat([part], Math.min(larger, PART_BYTES));
      }
      part.set(taken, length);
      length += taken.byteLength;
      chunk = chunk.subarray(taken.byteLength);
      if (length === PART_BYTES) {
        yield part;
        length = 0;
      }
    }
  }
  if (length > 0) yield part.subarray(0, length);
  return undefined;
}

/** Codes of temporary errors, which may come with a success status. */
const PASSING = ["InternalError", "ServiceUnavailable", "SlowDown"];

function failure(action: string, { status, body }: Pick<GuardedResponse, "status" | "body">): Error {
  const code = textOf(body.toString(), "Code") ?? "";
  if (status >= 500 || status === 429 || PASSING.includes(code))
    return new BlobsUnavailable(`S3 returned ${status} ${code} for ${action}.`);
  return new S3Failed(action, status, code);
}
