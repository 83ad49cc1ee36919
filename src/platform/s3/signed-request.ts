import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import type { StreamRequest } from "../fetch/guarded-fetch.ts";
import type { S3Credentials } from "./role-credentials.ts";

/** Where a user's buckets are, and which identity requests use. */
export interface S3Access extends S3Credentials {
  readonly region: string;
  /** Origin of the server; undefined means Amazon S3. */
  readonly endpoint: string | undefined;
}

export interface S3Request {
  readonly method: string;
  /** Path below the bucket, encoded as in a URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** Amazon uses bucket names as host names. Names with dots have no certificate there, and other servers expect the bucket in the path. */
export function bucketAddress({ region, endpoint }: Pick<S3Access, "region" | "endpoint">, bucket: string): URL {
  if (endpoint !== undefined) return new URL(`${endpoint.replace(/\/$/, "")}/${bucket}/`);
  if (bucket.includes(".")) return new URL(`https://s3.${region}.amazonaws.com/${bucket}/`);
  return new URL(`https://${bucket}.s3.${region}.amazonaws.com/`);
}

/** The path of an object; null if its name cannot be one, because a URL with "." or ".." in it leads elsewhere. */
export function objectPath(key: string): string | null {
  const parts = key.split("/");
  if (parts.some((part) => part === "." || part === "..") || !key.isWellFormed()) return null;
  return parts.map(encoded).join("/");
}

/** A request with the signature of version 4, its body included. */
export async function signed(
  base: URL,
  { region, accessKeyId, secretAccessKey, sessionToken }: S3Access,
  { method, path, query, headers, body }: S3Request,
): Promise<StreamRequest> {
  const pairs = Object.entries(query ?? {}).map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  const hash = createHash("sha256")
    .update(body ?? "")
    .digest("hex");
  const signer = new AwsV4Signer({
    method,
    url: `${base.href}${path}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`,
    headers: { ...headers, "x-amz-content-sha256": hash },
    service: "s3",
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
  });
  const { headers: all, url: address } = await signer.sign();
  all.delete("host");
  return {
    url: address.href,
    method,
    headers: { ...Object.fromEntries(all), "accept-encoding": "identity" },
    redirects: 0,
    ...(body ? { body } : {}),
  };
}

/** Encodes a part of a URL by the rules of the signature. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
