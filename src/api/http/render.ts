import type { AnswerHeaders, JsonAnswer } from "./operation.ts";

/** A response as bytes, to be sent and to be stored for a replay. */
export interface Rendered {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** JSON text. */
  readonly body?: string;
  /** Whether the response is final although its status is that of a failure. */
  readonly settled?: boolean;
  /** See `recoverable` of JsonAnswer. */
  readonly recoverable?: boolean;
}

/** Renders a JSON response. */
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
