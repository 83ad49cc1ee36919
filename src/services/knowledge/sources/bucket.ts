import type { Json } from "../../../domain/json.ts";
import { keyOfAddress, objectAddress } from "../../../domain/knowledge/bucket-source.ts";
import type { BucketSource } from "../../../domain/knowledge/bucket-source.ts";
import { ResourceFailure } from "../../../domain/knowledge/resource-failure.ts";
import { NodeFailure } from "../../../domain/runs/failure.ts";
import { FetchFailed } from "../../../platform/fetch/guarded-fetch-errors.ts";
import { S3Refused, UnusableKey } from "../../../platform/s3/buckets.ts";
import type { Buckets } from "../../../platform/s3/buckets.ts";
import { asResourceFailure, fetchedPage } from "../fetch-page.ts";
import type { PageAnswer, PageVersion } from "../fetch-page.ts";
import type { KnowledgeSource, SourcePage } from "./source.ts";

/** Calls the buckets of a connection, and updates its status. Throws NodeFailure if it cannot be used. */
export type CallBuckets = <T>(call: (buckets: Buckets) => Promise<T>) => Promise<T>;

/** The objects of a bucket whose names begin with a prefix. */
export function createBucketSource(
  { bucket, prefix }: BucketSource,
  callBuckets: CallBuckets,
  maxBytes: number,
): KnowledgeSource {
  return {
    async list(at: Json, signal: AbortSignal): Promise<SourcePage> {
      const cursor = typeof at === "string" ? at : undefined;
      try {
        const page = await callBuckets((buckets) => buckets.list(bucket, { prefix, cursor }, signal));
        // Some programs represent folders by names that end with a slash.
        const keys = page.objects.map(({ key }) => key).filter((key) => !key.endsWith("/"));
        return { addresses: keys.map((key) => objectAddress(bucket, key)), failures: [], next: page.cursor };
      } catch (error) {
        const failure = asFailure(error);
        if (!(failure instanceof ResourceFailure) || failure.retryable) throw error;
        const { code, message } = failure;
        return { addresses: [], failures: [{ address: objectAddress(bucket, prefix), code, message }], next: null };
      }
    },

    async read(address: string, known: PageVersion | null, signal: AbortSignal): Promise<PageAnswer> {
      const key = keyOfAddress(bucket, address);
      const etag = known?.etag ?? undefined;
      try {
        const answer = await callBuckets((buckets) => buckets.get(bucket, key, { etag, maxBytes }, signal));
        if (answer.status === 304) return { outcome: "not_modified" };
        const { headers, body } = answer;
        return fetchedPage({ url: address, name: key.slice(key.lastIndexOf("/") + 1), headers, body });
      } catch (error) {
        const failure = asFailure(error);
        const isMissing = error instanceof S3Refused && error.code === "NoSuchKey";
        if (isMissing && failure instanceof ResourceFailure) return { outcome: "missing", error: failure };
        throw failure;
      }
    },
  };
}

function asFailure(error: unknown): unknown {
  if (error instanceof S3Refused) {
    const retryable = error.status >= 500 || error.status === 429;
    return new ResourceFailure(error.ofCredential ? "connection_rejected" : "http_status", error.message, {
      retryable,
    });
  }
  if (error instanceof UnusableKey) return new ResourceFailure("object_name_unusable", `${error.message}.`);
  if (error instanceof NodeFailure) return new ResourceFailure(error.code, error.message);
  if (error instanceof FetchFailed || (error instanceof Error && error.name === "FetchRefused")) {
    return asResourceFailure(error);
  }
  return error;
}
