import { createHash, createHmac, hkdfSync } from "node:crypto";
import { uuidv7 } from "uuidv7";
import type { Logger } from "../../platform/logging/logger.ts";
import { decrypt, encrypt } from "../../platform/secrets/aes-gcm.ts";
import { Problem, invalid } from "../../domain/errors.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  LEASE_SECONDS,
  claimKey,
  findAnswer,
  lockClaim,
  releaseClaim,
  renewClaim,
  storeAnswer,
  type ClaimResult,
  type Lease,
  type StoredAnswer,
} from "../../stores/http/idempotency.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { Rendered } from "./render.ts";

/** Longer bodies are stored in the blob store, so that rows stay small. */
const INLINE_BODY_BYTES = 1024 * 1024;
/** No response is longer, because a run's outputs have a much lower limit. */
const MAX_BODY_BYTES = 1024 * 1024 * 1024;
const KEY = /^[\x21-\x7e]{1,255}$/;

const OTHER_REQUEST = "This Idempotency-Key was used for a different request in the last 24 hours.";
/** Both cases have the same message: the stored response cannot be decrypted without its credential. */
const OTHER_CREDENTIAL =
  "This Idempotency-Key was used in the last 24 hours for a different request or with another credential. The stored response contains a secret, so only the credential that made the first request can read it.";

export interface IdempotentRequest {
  readonly orgId: string;
  readonly key: string;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly body: Buffer;
  /** Whether the key's resource ID is a run's, so that the response of a completed run can be built from the run. */
  readonly makesRun: boolean;
  /** The caller's credential, if the request or its response contains a secret; see `seal`. */
  readonly credential: string | null;
}

/** What a handler knows of the claimed key. */
export interface KeyHold {
  readonly resourceId: string;
  readonly repeated: boolean;
  /** `null` if a response is already stored. */
  readonly lease: Lease | null;
}

export interface Idempotency {
  /** Serves a request once: the first response is kept for 24 h and replayed. Throws the 409s. */
  once(request: IdempotentRequest, serve: (hold: KeyHold) => Promise<Rendered>): Promise<Rendered>;
  /**
   * Fixes the resource ID of a key; the request is served every time until a response is stored. Throws the 409 if the key was used for
   * another request.
   */
  claimOnly(request: IdempotentRequest): Promise<KeyHold & { readonly kept?: KeptAnswer }>;
  /** Stores the response of a claimed key for 24 h. `digest` is that of a body that the request's hash does not cover. */
  keep(request: IdempotentRequest, hold: KeyHold, rendered: Rendered, digest: string): Promise<void>;
}

/**
 * Call it in the transaction of an effect that replaces what an earlier attempt made. Throws the 409 if a later attempt has taken the key
 * over; none can until the transaction ends.
 */
export async function requireHeld(db: Db, hold: KeyHold | null): Promise<void> {
  if (hold?.lease && !(await lockClaim(db, hold.lease))) throw inProgress();
}

/** A stored response with the digest of its request's body. */
export interface KeptAnswer {
  /** Replays the response. Throws the 409 if the body differs. */
  replay(digest: string): Promise<Rendered>;
}

export function createIdempotency(deps: { db: Database; blobs: BlobStore; logger: Logger }): Idempotency {
  const { db, blobs, logger } = deps;

  async function claim(
    request: IdempotentRequest,
    lease_seconds: number,
  ): Promise<Exclude<ClaimResult, { outcome: "conflict" }>> {
    if (!KEY.test(request.key))
      throw invalid(["header", "Idempotency-Key"], "Must be 1 to 255 visible ASCII characters", "value_error");
    const row = {
      org_id: request.orgId,
      key: request.key,
      operation: request.operation,
      request_hash: hashRequest(request),
      resource_id: uuidv7(),
      lease_seconds,
      lease_id: uuidv7(),
      makes_run: request.makesRun,
    };
    const result = await db.org(request.orgId, (connection) => claimKey(connection, row));
    if (result.outcome === "conflict") {
      throw new Problem("idempotency_conflict", request.credential === null ? OTHER_REQUEST : OTHER_CREDENTIAL);
    }
    return result;
  }

  async function restore(request: IdempotentRequest, answer: StoredAnswer): Promise<Rendered> {
    const kept =
      answer.blob === undefined ? answer.body : (await blobs.read(answer.blob, MAX_BODY_BYTES)).toString("utf8");
    const body = kept === undefined ? undefined : answer.sealed ? unseal(kept, request.credential) : kept;
    return {
      status: answer.status,
      headers: { ...answer.headers, "Idempotent-Replayed": "true" },
      ...(body !== undefined && { body }),
    };
  }

  /** False if the lease was lost. */
  async function keep(request: IdempotentRequest, lease: Lease, rendered: Rendered, digest?: string): Promise<boolean> {
    const { status, headers } = rendered;
    const sealed = request.credential !== null && rendered.body !== undefined;
    const body = sealed ? seal(rendered.body ?? "", request.credential ?? "") : rendered.body;
    const common = { status, headers, ...(sealed && { sealed }), ...(digest !== undefined && { digest }) };
    let stored: StoredAnswer = { ...common, ...(body !== undefined && { body }) };
    if (body !== undefined && Buffer.byteLength(body) > INLINE_BODY_BYTES) {
      const { key } = await blobs.put(request.orgId, Buffer.from(body), { maxBytes: MAX_BODY_BYTES });
      stored = { ...common, blob: key };
    }
    return db.org(request.orgId, (connection) => storeAnswer(connection, lease, stored));
  }

  /**
   * The response to a request that lost its lease: the response of the request that took its key over. Throws the 409 while that request is
   * in progress.
   */
  async function answerOfNext(request: IdempotentRequest, own: Rendered): Promise<Rendered> {
    const answer = await db.org(request.orgId, (connection) =>
      findAnswer(connection, request.key, hashRequest(request)),
    );
    if (answer === null) throw inProgress();
    return answer === undefined ? own : restore(request, answer);
  }

  return {
    async once(request, serve) {
      const claimed = await claim(request, LEASE_SECONDS);
      if (claimed.outcome === "answered") return restore(request, claimed.response);
      if (claimed.outcome === "completed") {
        return replayed(await serve({ resourceId: claimed.resource_id, repeated: true, lease: null }));
      }
      if (claimed.outcome !== "claimed") throw inProgress();
      const lease = { key: request.key, lease_id: claimed.lease_id };
      const withConnection = (work: typeof renewClaim): Promise<void> =>
        db.org(request.orgId, (connection) => work(connection, lease));
      const onFailure = (err: unknown): void =>
        logger.warn({ err, operation: request.operation }, "could not store an idempotency record");
      const renewal = setInterval(() => void withConnection(renewClaim).catch(onFailure), (LEASE_SECONDS * 1000) / 3);
      try {
        const rendered = await serve({ resourceId: claimed.resource_id, repeated: claimed.repeated, lease });
        // The run's row contains the whole response, so it is not stored again.
        if (rendered.recoverable) return claimed.repeated ? replayed(rendered) : rendered;
        if (!isFinal(rendered)) {
          await withConnection(releaseClaim).catch(onFailure);
          return rendered;
        }
        // The response is sent even if it cannot be stored.
        const kept = await keep(request, lease, rendered).catch(onFailure);
        return kept === false ? await answerOfNext(request, rendered) : rendered;
      } catch (error) {
        await withConnection(releaseClaim).catch(onFailure);
        throw error;
      } finally {
        clearInterval(renewal);
      }
    },

    async claimOnly(request) {
      const claimed = await claim(request, 0);
      if (claimed.outcome === "claimed") {
        const lease = { key: request.key, lease_id: claimed.lease_id };
        return { resourceId: claimed.resource_id, repeated: claimed.repeated, lease };
      }
      if (claimed.outcome === "in_progress") throw inProgress();
      const hold = { resourceId: claimed.resource_id, repeated: true, lease: null };
      if (claimed.outcome !== "answered" || claimed.response.digest === undefined) return hold;
      const { response } = claimed;
      const replay = async (digest: string): Promise<Rendered> => {
        if (digest !== response.digest) throw new Problem("idempotency_conflict", OTHER_REQUEST);
        return await restore(request, response);
      };
      return { ...hold, kept: { replay } };
    },

    async keep(request, { lease }, rendered, digest) {
      if (lease === null) return;
      await keep(request, lease, rendered, digest).catch((err: unknown) =>
        logger.warn({ err, operation: request.operation }, "could not store an idempotency record"),
      );
    },
  };
}

function replayed(rendered: Rendered): Rendered {
  return { ...rendered, headers: { ...rendered.headers, "Idempotent-Replayed": "true" } };
}

function inProgress(): Problem {
  return new Problem(
    "idempotency_in_progress",
    "The first request with this Idempotency-Key is still being processed.",
    {
      headers: { "Retry-After": "1" },
    },
  );
}

/** Whether the response is final: a client may retry internal errors and limits, but not a run that was executed. */
function isFinal(rendered: Rendered): boolean {
  return (rendered.status < 500 && rendered.status !== 429) || rendered.settled === true;
}

function hashRequest(request: IdempotentRequest): Buffer {
  // A plain digest of a body that contains a password could be used to guess the password.
  const hash = request.credential === null ? createHash("sha256") : createHmac("sha256", request.credential);
  return hash.update(`${request.method} ${request.path}${request.search}\n`).update(request.body).digest();
}

/**
 * Encrypts a response that shows a secret once (a new API key) with the caller's own credential, which is stored nowhere. The caller can
 * get the response again; a reader of the database cannot.
 */
function seal(text: string, credential: string): string {
  return encrypt(Buffer.from(text), sealingKey(credential), "").toString("base64");
}

function unseal(sealed: string, credential: string | null): string {
  return decrypt(Buffer.from(sealed, "base64"), sealingKey(credential ?? ""), "").toString("utf8");
}

function sealingKey(credential: string): Buffer {
  return Buffer.from(hkdfSync("sha256", credential, "", "millrace idempotent answer", 32));
}
