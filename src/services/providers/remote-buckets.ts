import { textOf } from "../../domain/providers/connection.ts";
import { openBuckets, S3Refused, type Buckets, type BucketsDeps } from "../../platform/s3/buckets.ts";
import type { Finding, ResolvedConnection } from "./resolve-connection.ts";

/** The buckets that a connection gives access to. */
export function bucketsOf(deps: BucketsDeps, { credential }: ResolvedConnection): Buckets {
  const sessionToken = textOf(credential, "session_token");
  const endpoint = textOf(credential, "endpoint");
  return openBuckets(deps, {
    region: textOf(credential, "region"),
    endpoint: endpoint === "" ? undefined : endpoint.replace(/\/$/, ""),
    accessKeyId: textOf(credential, "access_key_id"),
    secretAccessKey: textOf(credential, "secret_access_key"),
    ...(sessionToken === "" ? {} : { sessionToken }),
  });
}

/** Updates the status of a connection by the outcome of a call, and rethrows the call's error. */
export async function noted<T>(connection: ResolvedConnection, call: Promise<T>): Promise<T> {
  try {
    const answer = await call;
    await connection.accepted();
    return answer;
  } catch (error) {
    if (error instanceof S3Refused && error.ofCredential) await connection.rejected(error.message);
    throw error;
  }
}

/** Whether S3 accepts the credential, even one that may not list buckets. Throws the errors of the guarded fetch. */
export async function checkBuckets(deps: BucketsDeps, connection: ResolvedConnection, ms: number): Promise<Finding> {
  try {
    await bucketsOf(deps, connection).check(ms);
    return { status: "active", reason: null };
  } catch (error) {
    if (!(error instanceof S3Refused)) throw error;
    if (error.ofCredential) return { status: "error", reason: error.message };
    return error.code === "AccessDenied" ? { status: "active", reason: null } : { status: null, reason: error.message };
  }
}
