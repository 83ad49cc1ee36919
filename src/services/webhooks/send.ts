import { eventEnvelope, publicEventId } from "../../domain/webhooks/events.ts";
import { retryAfterMs } from "../../domain/retry-after.ts";
import type { AttemptResult } from "../../domain/webhooks/webhook.ts";
import { signWebhook } from "../../domain/webhooks/webhook-signature.ts";
import { FetchFailed, FetchRefused } from "../../platform/fetch/guarded-fetch-errors.ts";
import type { GuardedResponse } from "../../platform/fetch/guarded-fetch.ts";
import { createMaskValues, type MaskValues } from "../../platform/logging/mask-values.ts";
import { redactSecrets, redactUrl } from "../../platform/logging/redaction.ts";
import { SealBroken, type SecretBox } from "../../platform/secrets/seal.ts";
import type { DeliveryJob } from "../../stores/webhooks/attempts.ts";
import { asCallOf } from "../../platform/fetch/own-calls.ts";
import { openHeaders, openSecret } from "./subscription-secrets.ts";
import type { Parts } from "../parts.ts";

/** How much of a response is read (bytes), and how much of that is kept (characters). */
const READ_BYTES = 16 * 1024;
const KEPT_CHARS = 1024;

export interface SendDeps extends Parts<"guardedFetch" | "version"> {
  readonly box: SecretBox;
  /** Time limit for a receiver's response (ms). */
  readonly timeoutMs: number;
  /** Makes references in events absolute; "" leaves them relative. */
  readonly publicUrl: string;
  /** Runs some work within the trace of a run. */
  readonly within?: <T>(
    run: { readonly org_id: string; readonly run_id: string },
    path: null,
    work: () => Promise<T>,
  ) => Promise<T>;
  /** Called if an attempt failed with an internal error. */
  readonly onFault: (error: unknown, job: DeliveryJob) => void;
}

/** Makes one attempt: a POST with the event, signed as Standard Webhooks specifies. Rejects only if `signal` aborts. */
export type SendDelivery = (job: DeliveryJob, signal: AbortSignal) => Promise<AttemptResult>;

export function createSendDelivery({
  guardedFetch,
  box,
  timeoutMs,
  publicUrl,
  version,
  within = (_run, _path, work) => work(),
  onFault,
}: SendDeps): SendDelivery {
  return async (job, signal) => {
    const began = Date.now();
    const ended = (rest: Partial<AttemptResult>): AttemptResult => ({
      at: new Date(began).toISOString(),
      duration_ms: Date.now() - began,
      url: redactUrl(job.url),
      ok: false,
      status_code: null,
      error_code: null,
      error_message: null,
      response_body: null,
      retry_after_ms: null,
      ...rest,
    });
    let mask: MaskValues = (text) => text;
    try {
      const { request, secrets } = signedRequest(job, began);
      mask = createMaskValues(secrets);
      const send = (): Promise<GuardedResponse> =>
        guardedFetch.fetch({
          ...request,
          // A redirect counts as a failure, because it must not decide where events are sent.
          redirects: 0,
          // The status decides about success, even if the body cannot be read.
          incomplete: "keep",
          limits: { responseBytes: READ_BYTES, headersMs: timeoutMs, bodyMs: timeoutMs, totalMs: timeoutMs },
          signal,
        });
      const { run_id } = job.event.data;
      // The receiver may be a trigger of this installation whose run sends an event in turn, so the request names its
      // run.
      const run = typeof run_id === "string" ? { org_id: job.org_id, run_id } : null;
      const answer = await (run === null ? send() : within(run, null, () => asCallOf(run, send)));
      return ended(reading(answer, mask));
    } catch (error) {
      if (signal.aborted) throw error;
      const problem = problemOf(error, mask);
      if (problem === null) onFault(error, job);
      return ended(problem ?? OUR_FAULT);
    }
  };

  /** The signed request, and its secrets, which must be masked if the response echoes them. */
  function signedRequest(job: DeliveryJob, at: number) {
    const { event, org_id, event_id, subscription_id } = job;
    const body = JSON.stringify(eventEnvelope({ ...event, org_id, event_id }, publicUrl));
    const signing = [openSecret(box, subscription_id, job.secret), ...previousSecret(job)];
    const id = publicEventId(event_id);
    const timestamp = Math.floor(at / 1000);
    const headers = openHeaders(box, subscription_id, job.headers);
    const request = {
      url: job.url,
      method: "POST",
      body,
      headers: {
        ...headers,
        "content-type": "application/json",
        "user-agent": `Millrace/${version} (webhooks)`,
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": signWebhook({ id, timestamp, body }, signing),
      },
    };
    // Signing secrets must also be masked without their prefix.
    const bare = signing.map((secret) => secret.replace(/^whsec_/, ""));
    return { request, secrets: [...Object.values(headers), ...signing, ...bare] };
  }

  /** The previous secret. If it cannot be decrypted it is silently skipped, because that may be why it was replaced. */
  function previousSecret({ previous_secret, subscription_id }: DeliveryJob): string[] {
    if (previous_secret === null) return [];
    try {
      return [openSecret(box, subscription_id, previous_secret)];
    } catch (error) {
      if (error instanceof SealBroken) return [];
      throw error;
    }
  }
}

function reading(answer: GuardedResponse, mask: MaskValues): Partial<AttemptResult> {
  const ok = answer.status >= 200 && answer.status < 300;
  const redirected = answer.status >= 300 && answer.status < 400;
  return {
    ok,
    status_code: answer.status,
    ...(ok ? {} : { error_code: redirected ? "redirect" : "bad_status", error_message: mask(explained(answer)) }),
    response_body: shortened(answer, mask),
    retry_after_ms: retryAfterMs(answer.headers["retry-after"], Date.now()),
  };
}

function explained({ status, broken }: GuardedResponse): string {
  const unread = broken === undefined ? "" : ` Its body could not be read to the end: ${broken.message}`;
  if (status >= 300 && status < 400) {
    return `The receiver returned ${status}, a redirect. Redirects are not followed: change the webhook's url.${unread}`;
  }
  return `The receiver returned ${status}; only 2xx counts as success.${unread}`;
}

/**
 * The beginning of a response as text that Postgres can store, with secrets masked. It is cut after masking, because
 * half a secret would not be recognised.
 */
function shortened({ body, truncated, broken }: GuardedResponse, mask: MaskValues): string | null {
  if (body.length === 0) return null;
  const text = mask(body.toString("utf8").replaceAll("\u0000", "\uFFFD"), truncated || broken !== undefined);
  return [...redactSecrets(text)].slice(0, KEPT_CHARS).join("");
}

const OUR_FAULT: Partial<AttemptResult> = {
  error_code: "internal_error",
  error_message: "The attempt failed because of an internal error. See the server log.",
};

/** The recorded reason for a failure, or null for an internal error. */
function problemOf(error: unknown, mask: MaskValues): Partial<AttemptResult> | null {
  if (error instanceof FetchRefused || error instanceof FetchFailed) {
    return { error_code: error.code, error_message: mask(error.message) };
  }
  if (error instanceof SealBroken) {
    return {
      error_code: "secret_unreadable",
      error_message: "The webhook's secret cannot be decrypted with the configured master key (MILLRACE_MASTER_KEY).",
    };
  }
  return null;
}
