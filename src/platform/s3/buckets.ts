import type { FetchLimits, GuardedFetch, GuardedResponse } from "../fetch/guarded-fetch.ts";
import { elementsOf, textOf } from "./answers.ts";
import { bucketAddress, objectPath, signed, type S3Access, type S3Request } from "./signed-request.ts";

/** A refusal by S3. The message may be shown: it contains no credential and no name of an object. */
export class S3Refused extends Error {
  readonly status: number;
  /** S3's own code, e.g. "NoSuchKey"; "" if it gave none. */
  readonly code: string;

  constructor(action: string, status: number, code: string) {
    const hint = status === 301 ? " (check the region)" : "";
    super(`S3 returned ${status}${code === "" ? "" : ` ${code}`} for ${action}${hint}.`);
    this.name = "S3Refused";
    this.status = status;
    this.code = code;
  }

  /** Whether S3 refused the credential rather than the request. */
  get ofCredential(): boolean {
    return /^(?:InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|TokenRefreshRequired)$/.test(
      this.code,
    );
  }
}

/** Thrown if the response is not a valid list of a bucket. The message may be shown, like that of S3Refused. */
export class S3ListUnreadable extends Error {
  constructor(what: string) {
    super(`The S3 list response ${what} (check the endpoint).`);
    this.name = "S3ListUnreadable";
  }
}

/** Thrown for an object name that cannot be part of a URL. */
export class UnusableKey extends Error {}

export interface S3Object {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly last_modified: string;
}

export interface S3Listing {
  readonly objects: readonly S3Object[];
  /** Common prefixes (the next level) if a delimiter is given. */
  readonly prefixes: readonly string[];
  readonly cursor: string | null;
}

/** Requests to a user's buckets. Methods throw S3Refused, S3ListUnreadable, UnusableKey, and the errors of the guarded fetch. */
export interface Buckets {
  list(
    bucket: string,
    options: {
      readonly prefix?: string | undefined;
      readonly delimiter?: string | undefined;
      readonly maxKeys?: number | undefined;
      readonly cursor?: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<S3Listing>;
  /** An object; with its current `etag`, S3 returns 304. */
  get(
    bucket: string,
    key: string,
    options: { readonly etag?: string | undefined; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<GuardedResponse>;
  put(
    bucket: string,
    key: string,
    body: Uint8Array,
    type: string,
    signal: AbortSignal,
  ): Promise<{ readonly etag: string }>;
  /** Requests the list of buckets, to test the credential. */
  check(ms: number): Promise<void>;
}

export interface BucketsDeps {
  readonly guardedFetch: Pick<GuardedFetch, "fetch">;
  /** Limits of one request; in addition to `maxBytes` of the response. */
  readonly limits?: Partial<FetchLimits>;
}

const LIST_BYTES = 8 * 1024 * 1024;

export function openBuckets({ guardedFetch, limits }: BucketsDeps, access: S3Access): Buckets {
  async function call(
    action: string,
    bucket: string | null,
    request: S3Request,
    more: { readonly limits?: Partial<FetchLimits>; readonly signal?: AbortSignal; readonly also?: number },
  ): Promise<GuardedResponse> {
    const base =
      bucket === null
        ? new URL(`${access.endpoint ?? `https://s3.${access.region}.amazonaws.com`}/`)
        : bucketAddress(access, bucket);
    const { also, signal, ...own } = more;
    const answer = await guardedFetch.fetch({
      ...(await signed(base, access, request)),
      limits: { ...limits, ...own.limits },
      ...(signal ? { signal } : {}),
    });
    if (answer.status === 200 || answer.status === also) return answer;
    throw new S3Refused(action, answer.status, textOf(answer.body.toString("utf8"), "Code") ?? "");
  }

  return {
    async list(bucket, { prefix = "", delimiter, maxKeys, cursor }, signal) {
      const query = {
        "list-type": "2",
        // Names are requested URL-encoded, because they may contain characters that XML cannot hold.
        "encoding-type": "url",
        prefix,
        ...(delimiter === undefined ? {} : { delimiter }),
        ...(maxKeys === undefined ? {} : { "max-keys": String(maxKeys) }),
        ...(cursor === undefined ? {} : { "continuation-token": cursor }),
      };
      const limits = { responseBytes: LIST_BYTES };
      const answer = await call("list", bucket, { method: "GET", path: "", query }, { limits, signal });
      const page = listing(answer.body.toString("utf8"));
      if (page.cursor !== null && page.cursor === cursor) throw new S3ListUnreadable("repeats its own cursor");
      return page;
    },
    async get(bucket, key, { etag, maxBytes }, signal) {
      const headers = etag === undefined ? {} : { "if-none-match": etag };
      const request = { method: "GET", path: pathOf(key), headers };
      const also = etag === undefined ? 200 : 304;
      return await call("GET", bucket, request, { limits: { responseBytes: maxBytes }, signal, also });
    },
    async put(bucket, key, body, type, signal) {
      const request = { method: "PUT", path: pathOf(key), headers: { "content-type": type }, body };
      const { headers } = await call("PUT", bucket, request, { signal });
      return { etag: headers["etag"] ?? "" };
    },
    async check(ms) {
      const limits = { totalMs: ms, responseBytes: LIST_BYTES };
      await call("list buckets", null, { method: "GET", path: "" }, { limits });
    },
  };
}

function pathOf(key: string): string {
  const path = objectPath(key);
  if (path === null) throw new UnusableKey('no part of a name may be "." or ".."');
  return path;
}

/** A page of another program must not count as an empty bucket, nor an incomplete list as a complete one. */
function listing(xml: string): S3Listing {
  if (!/<ListBucketResult[\s>]/.test(xml)) throw new S3ListUnreadable("is not in the format of S3");
  // The server says whether it encoded the names; older servers do not know the parameter.
  const decode = /^url$/i.test(textOf(xml, "EncodingType") ?? "") ? decoded : (text: string) => text;
  const objects = elementsOf(xml, "Contents").map((each) => ({
    key: decode(textOf(each, "Key") ?? ""),
    size: Number(textOf(each, "Size") ?? 0),
    etag: textOf(each, "ETag") ?? "",
    last_modified: textOf(each, "LastModified") ?? "",
  }));
  const prefixes = elementsOf(xml, "CommonPrefixes").map((each) => decode(textOf(each, "Prefix") ?? ""));
  const more = textOf(xml, "IsTruncated") === "true";
  const next = more ? textOf(xml, "NextContinuationToken") : undefined;
  if (more && (next === undefined || next === "")) throw new S3ListUnreadable("contains no cursor for the next page");
  return { objects, prefixes, cursor: next ?? null };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
