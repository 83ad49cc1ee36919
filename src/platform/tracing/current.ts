import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanContext } from "./trace-context.ts";
import type { Tracer } from "./tracer.ts";

/** The span that some work belongs to. */
export interface CurrentSpan extends SpanContext {
  readonly tracer: Tracer;
  /** Whether requests to others are a part of it: not those of the API, whose work may serve several organisations. */
  readonly outbound: boolean;
  /** Whether what models are asked within it may be exported. */
  readonly content?: boolean;
}

const spans = new AsyncLocalStorage<CurrentSpan>();

/** Does some work within a span: what the work calls, logs and starts is known as a part of it. */
export function withinSpan<T>(span: CurrentSpan, work: () => T): T {
  return spans.run(span, work);
}

export function currentSpan(): CurrentSpan | undefined {
  return spans.getStore();
}

/** What a log line says about its trace. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const span = spans.getStore();
  return span === undefined ? {} : { trace_id: span.trace_id, span_id: span.span_id };
}
