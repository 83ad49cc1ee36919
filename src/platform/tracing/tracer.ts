import { setTimeout as delay } from "node:timers/promises";

type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A finished span. Attributes contain IDs, names, counts and states, but no inputs or outputs of a run. */
export interface SpanRecord {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | null;
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  /** Milliseconds since 1970. */
  readonly start_ms: number;
  readonly end_ms: number;
  /** The code of the failure; undefined if nothing failed. */
  readonly error?: string | undefined;
  readonly attributes: Attributes;
  /** A model's input and output, if the operator wants them exported. */
  readonly content?: Readonly<Record<string, string>> | undefined;
  readonly links?: ReadonlyArray<{ readonly trace_id: string; readonly span_id: string }>;
}

/** Sends spans; resolves once the receiver has them, and rejects if it does not take them. */
export interface SpanExporter {
  send(spans: readonly SpanRecord[]): Promise<void>;
  close(): Promise<void>;
}

export interface Tracer {
  /** The share of traces that is recorded, if their callers have not decided. */
  readonly ratio: number;
  /** Whether outgoing requests carry the trace context of their span. */
  readonly propagates: boolean;
  /** Whether spans of model calls include the conversation. */
  readonly content: boolean;
  /** Queues a span. Never waits: if the queue is full, the span is dropped and counted. */
  emit(span: SpanRecord): void;
  /** Counts a span that could not be made. */
  lost(): void;
  /** Sends the queued spans, within the time that a stop may take. */
  close(): Promise<void>;
}

/** What is known of a span when it starts. */
export interface SpanStart extends Pick<SpanRecord, "trace_id" | "span_id" | "parent_id" | "name" | "kind"> {
  /** Whether its trace is recorded. */
  readonly sampled: boolean;
}

/** Starts a span now. The returned function ends it, and emits it if its trace is recorded. */
export function beginSpan(
  tracer: Tracer,
  { sampled, ...span }: SpanStart,
): (error: string | undefined, attributes: Attributes, content?: SpanRecord["content"]) => void {
  const start_ms = Date.now();
  return (error, attributes, content) => {
    if (sampled) tracer.emit({ ...span, start_ms, end_ms: Date.now(), error, attributes, content });
  };
}

export interface TracerOptions extends Pick<Tracer, "ratio" | "propagates" | "content"> {
  readonly exporter: SpanExporter;
  /** Most spans in the queue. */
  readonly queued?: number;
  /** How long a span waits to be sent together with others (ms). */
  readonly intervalMs?: number;
  readonly onSpans: (outcome: "sent" | "failed" | "dropped", count: number) => void;
  readonly onError: (error: unknown) => void;
}

/** How long a stop waits for the receiver (ms). */
const CLOSE_MS = 3000;
/** Most spans in one request. */
const BATCH = 512;
/**
 * Most content in the queue (characters); spans beyond it are sent without content, so that no request is longer than collectors accept.
 */
const MAX_CONTENT = 4 * 1024 * 1024;

/** Collects spans and sends them in batches, one after the other. */
export function createTracer(options: TracerOptions): Tracer {
  const { exporter, queued = 8192, intervalMs = 1000, onSpans, onError } = options;
  let queue: SpanRecord[] = [];
  let contentChars = 0;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;

  async function sendAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH);
      queue = queue.slice(BATCH);
      contentChars -= batch.reduce((sum, span) => sum + charsOf(span), 0);
      try {
        await exporter.send(batch);
        onSpans("sent", batch.length);
      } catch (error) {
        onSpans("failed", batch.length);
        onError(error);
      }
    }
  }

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    return (sending ??= sendAll().finally(() => (sending = undefined)));
  };

  return {
    ratio: options.ratio,
    propagates: options.propagates,
    content: options.content,
    emit(span) {
      if (queue.length >= queued) return onSpans("dropped", 1);
      const chars = charsOf(span);
      const fits = contentChars + chars <= MAX_CONTENT;
      queue.push(fits ? span : { ...span, content: undefined });
      if (fits) contentChars += chars;
      if (queue.length >= BATCH) void flush();
      else timer ??= setTimeout(() => void flush(), intervalMs).unref();
    },
    lost: () => onSpans("dropped", 1),
    async close() {
      await Promise.race([flush().then(() => exporter.close()), delay(CLOSE_MS, undefined, { ref: false })]);
      if (queue.length === 0) return;
      onSpans("dropped", queue.length);
      // Also reported as an error, because no one reads the metrics of a process that stops.
      onError(new Error(`${queue.length} spans were still waiting when the process ended`));
    },
  };
}

function charsOf({ content = {} }: SpanRecord): number {
  return Object.values(content).reduce((sum, text) => sum + text.length, 0);
}
