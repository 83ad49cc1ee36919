import type { Json } from "../../../domain/json.ts";
import { keyOfAddress, objectAddress, type BucketSource } from "../../../domain/knowledge/bucket-source.ts";
import { ResourceFailure } from "../../../domain/knowledge/resource-failure.ts";
import { NodeFailure } from "../../../domain/runs/failure.ts";
import { unstorableText } from "../../../domain/storable.ts";
import { S3ListUnreadable, S3Refused, UnusableKey, type Buckets } from "../../../platform/s3/buckets.ts";
import { waitAfter } from "../../../platform/s3/try-again.ts";
import { asResourceFailure, fetchedPage, type PageAnswer, type PageVersion } from "../fetch-page.ts";
import type { KnowledgeSource, ListFailure, SourcePage } from "./source.ts";

/**
 * Attempts of a request after transient errors; S3 returns 503 to clients that are too fast. Fewer per object, because
 * an unreachable server would cost these attempts for thousands of objects.
 */
const LIST_ATTEMPTS = 6;
const READ_ATTEMPTS = 3;

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
      const failures: ListFailure[] = [];
      try {
        const page = await patiently(LIST_ATTEMPTS, signal, (buckets) =>
          buckets.list(bucket, { prefix, cursor }, signal),
        );
        // Objects whose names end with a slash are folders of some programs, so they are skipped.
        const keys = page.objects.map(({ key }) => key).filter((key) => !key.endsWith("/"));
        const addresses = keys.flatMap((key) => {
          const fault = unstorableText(key)?.fault;
          if (fault === undefined) return [objectAddress(bucket, key)];
          const address = objectAddress(bucket, key.replaceAll("\0", "\ufffd").toWellFormed());
          failures.push({ address, code: "object_name_unusable", message: `Its name contains ${fault}.` });
          return [];
        });
        return { addresses, failures, next: page.cursor };
      } catch (failure) {
        if (!(failure instanceof ResourceFailure)) throw failure;
        const { code, message } = failure;
        return { addresses: [], failures: [{ address: objectAddress(bucket, prefix), code, message }], next: null };
      }
    },

    async read(address: string, known: PageVersion | null, signal: AbortSignal): Promise<PageAnswer> {
      const key = keyOfAddress(bucket, address);
      const etag = known?.etag ?? undefined;
      try {
        const answer = await patiently(READ_ATTEMPTS, signal, (buckets) =>
          buckets.get(bucket, key, { etag, maxBytes }, signal),
        );
        if (answer.status === 304) return { outcome: "not_modified" };
        const { headers, body } = answer;
        return fetchedPage({ url: address, name: key.slice(key.lastIndexOf("/") + 1), headers, body });
      } catch (failure) {
        const cause = failure instanceof ResourceFailure ? failure.cause : undefined;
        if (cause instanceof S3Refused && cause.code === "NoSuchKey")
          return { outcome: "missing", error: failure as ResourceFailure };
        throw failure;
      }
    },
  };

  /** Retries transient errors. Throws ResourceFailure, or an error that the bucket did not cause. */
  async function patiently<T>(
    maxAttempts: number,
    signal: AbortSignal,
    call: (buckets: Buckets) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await callBuckets(call);
      } catch (error) {
        const failure = asFailure(error);
        if (!(failure instanceof ResourceFailure) || !failure.retryable || attempt === maxAttempts) throw failure;
        await waitAfter(attempt);
        signal.throwIfAborted();
      }
    }
  }
}

function asFailure(error: unknown): unknown {
  if (error instanceof S3Refused) {
    const retryable = error.status >= 500 || error.status === 429;
    const code = error.ofCredential ? "connection_rejected" : "http_status";
    return new ResourceFailure(code, error.message, { retryable, cause: error });
  }
  if (error instanceof S3ListUnreadable) return new ResourceFailure("source_broken", error.message, { cause: error });
  if (error instanceof UnusableKey) return new ResourceFailure("object_name_unusable", `${error.message}.`);
  if (error instanceof NodeFailure) return new ResourceFailure(error.code, error.message);
  return asResourceFailure(error);
}
