import { currentSpan } from "./current.ts";
import { formatTraceparent, randomSpanId } from "./trace-context.ts";

/** A request to others, as a part of the span it is made in. */
export interface TracedCall {
  /** What the request is to carry besides. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends its span: "ok" for any answer, or the code of what went wrong. */
  end(outcome: string, status?: number): void;
}

const UNTRACED: TracedCall = { headers: {}, end: () => undefined };

/** Begins a request. Of its address only the host is recorded: paths and queries have secrets of users in them. */
export function traceCall({
  method = "GET",
  url: text,
}: {
  readonly method?: string;
  readonly url: string;
}): TracedCall {
  const parent = currentSpan();
  if (parent === undefined || !parent.outbound || !URL.canParse(text)) return UNTRACED;
  const url = new URL(text);
  const { tracer, trace_id, sampled } = parent;
  const span_id = randomSpanId();
  const start_ms = Date.now();
  let ended = false;
  return {
    headers: tracer.propagates ? { traceparent: formatTraceparent({ trace_id, span_id, sampled }) } : {},
    end(outcome, status) {
      if (!sampled || ended) return;
      ended = true;
      const failed = outcome === "ok" ? (status !== undefined && status >= 400 ? String(status) : undefined) : outcome;
      tracer.emit({
        trace_id,
        span_id,
        parent_id: parent.span_id,
        name: method.toUpperCase(),
        kind: "client",
        start_ms,
        end_ms: Date.now(),
        error: failed,
        attributes: {
          "http.request.method": method.toUpperCase(),
          "server.address": url.hostname,
          "server.port": Number(url.port || (url.protocol === "https:" ? 443 : 80)),
          "http.response.status_code": status,
        },
      });
    },
  };
}
