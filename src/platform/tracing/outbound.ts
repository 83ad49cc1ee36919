import { currentSpan } from "./current.ts";
import { portOf } from "../fetch/guarded-fetch-connect.ts";
import { formatTraceparent, randomSpanId } from "./trace-context.ts";
import { beginSpan, type SpanRecord } from "./tracer.ts";

/** An outgoing request, as a part of the span in which it is made. */
export interface TracedCall {
  /** Additional headers for the request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the request's span: "ok" for any response, or the code of the error. */
  end(outcome: string, status?: number): void;
}

/** The server that a request goes to, as attributes of the OpenTelemetry conventions. */
export function serverOf(url: URL): SpanRecord["attributes"] {
  return { "server.address": url.hostname, "server.port": portOf(url) };
}

const UNTRACED: TracedCall = { headers: {}, end: () => undefined };

/** Starts the span of a request. Only the host of its URL is recorded, because paths and queries contain users' secrets. */
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
  const name = method.toUpperCase();
  const end = beginSpan(tracer, { trace_id, span_id, parent_id: parent.span_id, sampled, name, kind: "client" });
  let ended = false;
  return {
    headers: tracer.propagates ? { traceparent: formatTraceparent({ trace_id, span_id, sampled }) } : {},
    end(outcome, status) {
      if (ended) return;
      ended = true;
      const failed = outcome === "ok" ? (status !== undefined && status >= 400 ? String(status) : undefined) : outcome;
      end(failed, { "http.request.method": name, ...serverOf(url), "http.response.status_code": status });
    },
  };
}
