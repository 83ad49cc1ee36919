import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { ProtoReader } from "./proto-reader.ts";
import { eventually } from "./scratch.ts";

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string;
  readonly name: string;
  readonly kind: number;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly status: { readonly code: number; readonly message: string };
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: ReadonlyArray<{ readonly trace_id: string; readonly span_id: string }>;
  /** "millrace-api" or "millrace-worker". */
  readonly service: unknown;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** All received bytes. */
  bytes(): Buffer;
  /** Waits for a span from any process. */
  find(what: string, matches: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  /** Stops responding to requests; spans that arrive afterwards are not recorded. */
  hold(): void;
  close(): Promise<void>;
}

/** Receives spans by OTLP over HTTP with protobuf, as a collector does. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const bodies: Buffer[] = [];
  let held = false;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (held) return;
      const sent = Buffer.concat(chunks);
      const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
      if (request.url !== "/v1/traces" || request.headers["content-type"] !== "application/x-protobuf") {
        response.writeHead(404).end();
        return;
      }
      headers.push(request.headers);
      bodies.push(body);
      spans.push(...readRequest(body));
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    bytes: () => Buffer.concat(bodies),
    async find(what, matches) {
      return eventually(`a span of ${what}`, () => spans.find(matches)).catch((error: unknown) => {
        throw new Error(`${String(error)}, among ${spans.map(({ name }) => name).join(", ")}`);
      });
    },
    hold: () => {
      held = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

// Field numbers are those of opentelemetry/proto/trace/v1/trace.proto.
function readRequest(body: Buffer): ReceivedSpan[] {
  return new ProtoReader(body).messages(1).flatMap((resourceSpans) => {
    const service = attributesOf(resourceSpans.messages(1)[0], 1)["service.name"];
    return resourceSpans.messages(2).flatMap((scope) => scope.messages(2).map((span) => readSpan(span, service)));
  });
}

function readSpan(span: ProtoReader, service: unknown): ReceivedSpan {
  const [status] = span.messages(15);
  return {
    trace_id: span.hex(1),
    span_id: span.hex(2),
    parent_id: span.hex(4),
    name: span.text(5),
    kind: span.number(6),
    start_ms: span.nanos(7) / 1e6,
    end_ms: span.nanos(8) / 1e6,
    attributes: attributesOf(span, 9),
    links: span.messages(13).map((link) => ({ trace_id: link.hex(1), span_id: link.hex(2) })),
    status: { message: status?.text(2) ?? "", code: status?.number(3) ?? 0 },
    service,
  };
}

function attributesOf(message: ProtoReader | undefined, field: number): Record<string, unknown> {
  return Object.fromEntries(
    (message?.messages(field) ?? []).map((pair) => [pair.text(1), valueOf(pair.messages(2)[0])]),
  );
}

function valueOf(value: ProtoReader | undefined): unknown {
  if (value === undefined) return undefined;
  if (value.has(1)) return value.text(1);
  if (value.has(2)) return value.number(2) === 1;
  if (value.has(3)) return value.number(3);
  if (value.has(4)) return value.double(4);
  return value.messages(5).flatMap((list) => list.messages(1).map(valueOf));
}
