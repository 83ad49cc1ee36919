import type { RouterContext } from "@koa/router";
import type { Middleware } from "koa";
import { withinSpan } from "../../../platform/tracing/current.ts";
import { isSampled, parseTraceparent, randomSpanId, randomTraceId } from "../../../platform/tracing/trace-context.ts";
import type { Tracer } from "../../../platform/tracing/tracer.ts";
import type { RequestState } from "../operation.ts";

/**
 * Makes a span for each request of an operation, in the caller's trace if there is one. Runs it starts belong to the
 * same trace.
 */
export function tracing(tracer: Tracer): Middleware<RequestState> {
  return async function tracing(ctx, next) {
    const caller = parseTraceparent(ctx.headers["traceparent"]);
    const trace_id = caller?.trace_id ?? randomTraceId();
    const sampled = caller?.sampled ?? isSampled(trace_id, tracer.ratio);
    const span_id = randomSpanId();
    const start_ms = Date.now();
    ctx.state.trace = { trace_id, span_id };
    if (sampled) {
      ctx.res.once("close", () => {
        const { operationId, principal } = ctx.state;
        // A URL that no operation serves may contain anything, so it is not recorded.
        if (operationId === undefined) return;
        const status = ctx.res.statusCode;
        const route = String((ctx as unknown as RouterContext)._matchedRoute ?? operationId);
        tracer.emit({
          trace_id,
          span_id,
          parent_id: caller?.span_id ?? null,
          name: `${ctx.method} ${route}`,
          kind: "server",
          start_ms,
          end_ms: Date.now(),
          error: status >= 500 ? String(status) : undefined,
          attributes: {
            "http.request.method": ctx.method,
            "http.route": route,
            "http.response.status_code": status,
            "millrace.operation.id": operationId,
            "millrace.request.id": ctx.state.requestId,
            "millrace.org.id": principal?.org_id,
          },
        });
      });
    }
    await withinSpan({ tracer, trace_id, span_id, sampled, outbound: false }, next);
  };
}
