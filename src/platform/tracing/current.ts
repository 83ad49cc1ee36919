import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanContext } from "./trace-context.ts";
import type { Tracer } from "./tracer.ts";

/** The span that the current work belongs to. */
export interface CurrentSpan extends SpanContext {
  readonly tracer: Tracer;
  /** Whether outgoing requests belong to the span: not for spans of the API, whose work may serve several organisations. */
  readonly outbound: boolean;
  /** Whether the input of model calls within it may be exported. */
  readonly content?: boolean;
}

const spans = new AsyncLocalStorage<CurrentSpan>();

/** Does some work within a span: calls, log lines and new spans of the work belong to it. */
export function withinSpan<T>(span: CurrentSpan, work: () => T): T {
  return spans.run(span, work);
}

export function currentSpan(): CurrentSpan | undefined {
  return spans.getStore();
}

/** The trace fields of a log line. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const span = spans.getStore();
  return span === undefined ? {} : { trace_id: span.trace_id, span_id: span.span_id };
}
