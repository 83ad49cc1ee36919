import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Answer, RequestOptions, TestClient } from "../support/client.ts";

/** The failed attempts of a client before its final response. */
export interface Refusals {
  /** Number of responses by status; "broken" is a connection that was refused or lost. */
  readonly counts: Map<string, number>;
  /** Number of 429s and 503s without a Retry-After, which must be zero. */
  withoutRetryAfter: number;
  /** Longest response time of one request (ms). */
  slowest: number;
}

export const noRefusals = (): Refusals => ({ counts: new Map(), withoutRetryAfter: 0, slowest: 0 });

/** Describes the failed attempts in words. */
export function refused({ counts }: Refusals): string {
  const met = [...counts].filter(([status]) => !status.startsWith("2")).map(([status, n]) => `${n} x ${status}`);
  return met.length === 0 ? "no refusal" : met.join(", ");
}

/**
 * Sends a POST with one Idempotency-Key until it gets a final response, as a careful client does: it retries broken
 * connections, 429, 503 and "still in progress". Throws after `timeoutMs`.
 */
export async function postUntilAnswered(
  api: TestClient,
  path: string,
  body: () => unknown,
  refusals: Refusals,
  options: RequestOptions & { timeoutMs?: number; key?: string } = {},
): Promise<Answer> {
  const { timeoutMs = 100_000, key = randomUUID(), ...rest } = options;
  for (const until = Date.now() + timeoutMs; Date.now() < until; await delay(100)) {
    const since = Date.now();
    const answer = await api
      .post(path, body(), { ...rest, headers: { ...rest.headers, "idempotency-key": key } })
      .catch((error: unknown) => (error instanceof TypeError || isAborted(error) ? null : Promise.reject(error)));
    const status = answer === null ? "broken" : String(answer.status);
    refusals.counts.set(status, (refusals.counts.get(status) ?? 0) + 1);
    if (answer) refusals.slowest = Math.max(refusals.slowest, Date.now() - since);
    const isRefused = answer?.status === 429 || answer?.status === 503;
    if (isRefused && answer.headers.get("retry-after") === null) refusals.withoutRetryAfter += 1;
    const again = answer === null || isRefused || answer.body?.code === "idempotency_in_progress";
    if (!again) return answer;
  }
  throw new Error(`${path} was not answered within ${timeoutMs} ms; met ${JSON.stringify([...refusals.counts])}`);
}

/** Posts at a fixed interval, each time with a new key, until stopped; `stop` returns all responses. */
export function postConstantly(
  api: TestClient,
  path: string,
  body: (n: number) => unknown,
  everyMs: number,
): { stop(): Promise<{ answers: Answer[]; refusals: Refusals }> } {
  const refusals = noRefusals();
  const under: Array<Promise<Answer>> = [];
  const timer = setInterval(() => {
    const n = under.length;
    const post = postUntilAnswered(api, path, () => body(n), refusals);
    // Handled here to prevent an unhandled rejection; stop() rejects with the failure.
    post.catch(() => undefined);
    under.push(post);
  }, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      return { answers: await Promise.all(under), refusals };
    },
  };
}

function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
