import type { AnswerHeaders, JsonAnswer, RequestContext } from "./operation.ts";

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

/** Writes a rendered response. */
export function send(ctx: RequestContext, rendered: Rendered): void {
  ctx.status = rendered.status;
  for (const [name, value] of Object.entries(rendered.headers)) ctx.set(name, value);
  if (rendered.body === undefined) {
    ctx.body = null;
    // Koa turns an empty body into a 204; keep the status of a 202 or 304.
    ctx.status = rendered.status;
  } else {
    ctx.body = rendered.body;
  }
}
