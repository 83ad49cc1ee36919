import type { AnswerHeaders, JsonAnswer } from "./operation.ts";

/** An answer as bytes: what is sent, and what is kept for a replay. */
export interface Rendered {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** JSON text. */
  readonly body?: string;
  /** The answer is final although its status is that of a failure. */
  readonly settled?: boolean;
  /** See JsonAnswer. */
  readonly recoverable?: boolean;
}

/** Writes a JSON answer as text. */
export function renderJson(answer: JsonAnswer): Rendered {
  const { status, body, headers, recoverable = false } = answer;
  if (body === undefined) return { status, headers: { ...headers } };
  return {
    status,
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    ...(recoverable && { recoverable }),
  };
}
