import { MAX_RETRY_AFTER_MS } from "../retry-after.ts";
export const SUBSCRIPTION_STATUSES = ["enabled", "disabled"] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

/** Why a webhook is disabled: its deliveries kept failing, its receiver returned 410, or a person disabled it. */
export const DISABLED_REASONS = ["failing", "gone", "manual"] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** `pending` waits for its first attempt; `retrying` has failed and will be retried; the others are terminal. */
export const DELIVERY_STATUSES = ["pending", "retrying", "delivered", "failed"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const FAILURE_REASONS = ["attempts_exhausted", "gone", "subscription_disabled", "subscription_deleted"] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

export interface AttemptResult {
  readonly at: string;
  readonly duration_ms: number;
  readonly url: string;
  readonly ok: boolean;
  readonly status_code: number | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** The beginning of the response body, redacted. */
  readonly response_body: string | null;
  readonly retry_after_ms: number | null;
}

/** The state of a delivery after an attempt. */
export interface DeliveryVerdict {
  readonly status: Exclude<DeliveryStatus, "pending">;
  readonly failure_reason: FailureReason | null;
  /** Delay before the next attempt; only for `retrying`. */
  readonly delay_ms: number | null;
  /** How long the receiver asked to receive no deliveries. */
  readonly hold_ms: number | null;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The schedule of Standard Webhooks: the delay (ms) before each attempt, counted from the previous failure. */
export const DEFAULT_WEBHOOK_SCHEDULE_MS: readonly number[] = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** Each delay grows by a random part up to this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;
/** Longest time that a Retry-After holds back the webhook's other deliveries. */
const MAX_HOLD_MS = HOUR;

/**
 * Decides what follows attempt number `tries` (from 1) of a round of attempts; redelivering starts a new round. `schedule` has the delay
 * (ms) before each attempt, counted from the previous failure; `random` returns a number from 0 to 1.
 */
export function verdictOf(
  result: AttemptResult,
  tries: number,
  schedule: readonly number[],
  random: () => number,
): DeliveryVerdict {
  if (result.ok) return { status: "delivered", failure_reason: null, delay_ms: null, hold_ms: null };
  if (result.status_code === 410) return { status: "failed", failure_reason: "gone", delay_ms: null, hold_ms: null };
  const asked = result.retry_after_ms;
  const overloaded = result.status_code === 429 || result.status_code === 503;
  const hold_ms = asked !== null && asked > 0 && overloaded ? Math.min(asked, MAX_HOLD_MS) : null;
  const planned = schedule[tries];
  if (planned === undefined) return { status: "failed", failure_reason: "attempts_exhausted", delay_ms: null, hold_ms };
  const wanted = Math.max(planned, Math.min(asked ?? 0, MAX_RETRY_AFTER_MS));
  return {
    status: "retrying",
    failure_reason: null,
    delay_ms: Math.round(wanted * (1 + JITTER * random())),
    hold_ms,
  };
}

/** Most webhooks of an organisation, because each event is matched against each of them. */
export const MAX_SUBSCRIPTIONS = 100;

const MAX_HEADERS = 20;
const MAX_HEADER_CHARS = 4096;
const OURS = /^(?:webhook-|content-|accept-encoding$|user-agent$|host$|forwarded$|x-forwarded-)/i;

/** Problems of a webhook's additional headers, by name; the name "" means all headers together. */
export function headerProblems(headers: Readonly<Record<string, string>>): Array<{ name: string; problem: string }> {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) return [{ name: "", problem: `Can have at most ${MAX_HEADERS} headers` }];
  const problems = entries
    .filter(([name]) => OURS.test(name))
    .map(([name]) => ({ name, problem: "This header is set by Millrace on each delivery" }));
  const chars = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (chars > MAX_HEADER_CHARS)
    problems.push({ name: "", problem: `All headers together can have at most ${MAX_HEADER_CHARS} characters` });
  return problems;
}
