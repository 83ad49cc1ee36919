import type { Config } from "../config.ts";
import type { Logger } from "../platform/logging/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import { openOtlp } from "../platform/tracing/otlp.ts";
import { createTracer } from "../platform/tracing/tracer.ts";
import type { Tracer } from "../platform/tracing/tracer.ts";
import { VERSION } from "../version.ts";

/** The tracer, if the operator has configured a collector. */
export async function openTracer(
  config: Config,
  { service, metrics, logger }: { service: "api" | "worker"; metrics: Metrics; logger: Logger },
): Promise<Tracer | undefined> {
  const endpoint = config.MILLRACE_OTLP_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return undefined;
  const headers = config.OTEL_EXPORTER_OTLP_HEADERS ?? {};
  return createTracer({
    exporter: await openOtlp({ endpoint, headers, service, version: VERSION }),
    ratio: config.MILLRACE_TRACE_RATIO,
    propagates: config.MILLRACE_TRACE_PROPAGATION,
    content: config.MILLRACE_TRACE_CONTENT,
    queued: config.OTEL_BSP_MAX_QUEUE_SIZE,
    intervalMs: config.OTEL_BSP_SCHEDULE_DELAY,
    onSpans: (outcome, count) => metrics.spans(outcome, count),
    onError: (err) => logger.warn({ err }, "could not send spans"),
  });
}
