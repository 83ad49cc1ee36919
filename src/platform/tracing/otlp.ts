import type { SpanExporter, SpanRecord } from "./tracer.ts";

/** The span kinds as OpenTelemetry numbers them. */
const KINDS = { internal: 0, server: 1, client: 2 } as const;
const ERROR = 2;
const SAMPLED = 1;

export interface OtlpOptions {
  /** URL of the collector; `/v1/traces` is appended unless it ends so. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** "api" or "worker". */
  readonly service: string;
  readonly version: string;
}

/** Sends spans by OTLP over HTTP. Its packages are loaded only here, because most installations do not export traces. */
export async function openOtlp({ endpoint, headers, service, version }: OtlpOptions): Promise<SpanExporter> {
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
  type Spans = Parameters<InstanceType<typeof OTLPTraceExporter>["export"]>[0];
  const base = endpoint.replace(/\/$/, "");
  const exporter = new OTLPTraceExporter({
    url: base.endsWith("/v1/traces") ? base : `${base}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: 5000,
  });
  const resource = {
    attributes: {
      "service.name": `millrace-${service}`,
      "service.version": version,
      "process.pid": process.pid,
    },
  };
  const asSpan = (span: SpanRecord) => ({
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => contextOf(span.trace_id, span.span_id),
    ...(span.parent_id === null ? {} : { parentSpanContext: contextOf(span.trace_id, span.parent_id) }),
    startTime: hrTime(span.start_ms),
    endTime: hrTime(span.end_ms),
    duration: hrTime(Math.max(0, span.end_ms - span.start_ms)),
    status: span.error === undefined ? { code: 0 } : { code: ERROR, message: span.error },
    attributes: {
      ...span.attributes,
      ...span.content,
      ...(span.error === undefined ? {} : { "error.type": span.error }),
    },
    links: (span.links ?? []).map(({ trace_id, span_id }) => ({ context: contextOf(trace_id, span_id) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: "millrace", version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  });
  return {
    send: (spans) =>
      new Promise((resolve, reject) => {
        exporter.export(spans.map(asSpan) as unknown as Spans, ({ code, error }) => {
          if (code === 0) resolve();
          else reject(error ?? new Error("the collector rejected spans"));
        });
      }),
    close: () => exporter.shutdown(),
  };
}

function contextOf(traceId: string, spanId: string) {
  return { traceId, spanId, traceFlags: SAMPLED };
}

/** A time as seconds and nanoseconds. */
function hrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
