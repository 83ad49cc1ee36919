import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Where blobs are kept. */
export type BlobPlace =
  | { readonly kind: "file"; readonly directory: string }
  | {
      readonly kind: "s3";
      readonly bucket: string;
      /** Has no slashes at its ends; may be empty. */
      readonly prefix: string;
      readonly region: string;
      /** Origin of the server; undefined means Amazon S3. */
      readonly endpoint: string | undefined;
    };

/**
 * Reads a directory, `file:///directory` or `s3://bucket/prefix?endpoint=https://host:port&region=name`. Throws an Error that says
 * what is wrong with it.
 */
export function parseBlobPlace(text: string): BlobPlace {
  if (!/^[a-z][a-z0-9+.-]+:/i.test(text)) return { kind: "file", directory: resolve(text) };
  if (!URL.canParse(text)) throw new Error(EXPECTED);
  const url = new URL(text);
  if (url.protocol === "file:") return { kind: "file", directory: fileURLToPath(url) };
  if (url.protocol !== "s3:") throw new Error(EXPECTED);
  if (url.username !== "" || url.password !== "") {
    throw new Error("set the S3 keys in MILLRACE_S3_ACCESS_KEY_ID and MILLRACE_S3_SECRET_ACCESS_KEY, not in the URL");
  }
  const unknown = [...url.searchParams.keys()].filter((name) => !["endpoint", "region"].includes(name));
  if (unknown.length > 0)
    throw new Error(`s3:// allows only the parameters endpoint and region, not ${unknown.join(", ")}`);
  const bucket = url.hostname;
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw new Error("s3:// must be followed by the name of a bucket");
  const prefix = url.pathname.replace(/^\/+|(?<!\/)\/+$/g, "");
  if (!/^[A-Za-z0-9_./-]*$/.test(prefix) || prefix.split("/").includes("..")) {
    throw new Error("a prefix can contain only letters, digits and _ . - /");
  }
  return {
    kind: "s3",
    bucket,
    prefix,
    region: url.searchParams.get("region") ?? "us-east-1",
    endpoint: endpointOf(url),
  };
}

/** The directory of a blob location; undefined if it is not a directory. */
export function directoryOf(place: BlobPlace): string | undefined {
  return place.kind === "file" ? place.directory : undefined;
}

const EXPECTED = "must be a directory, file:///directory or s3://bucket/prefix?endpoint=https://host:port&region=name";

function endpointOf(url: URL): string | undefined {
  const text = url.searchParams.get("endpoint");
  if (text === null) return undefined;
  const endpoint = URL.canParse(text) ? new URL(text) : undefined;
  if (!endpoint || !/^https?:$/.test(endpoint.protocol) || endpoint.origin !== text.replace(/\/$/, "")) {
    throw new Error("endpoint must be http:// or https:// with a host, and a port if it is not the default port");
  }
  return endpoint.origin;
}
