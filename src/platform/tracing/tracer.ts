/** A span that has ended. Attributes have ids, names, counts and states: nothing that a run was given or has answered. */
export interface SpanRecord {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | null;
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  /** Milliseconds since 1970. */
  readonly start_ms: number;
  readonly end_ms: number;
  /** The code of what has failed; absent where nothing has. */
  readonly error?: string | undefined;
  readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly links?: ReadonlyArray<{ readonly trace_id: string; readonly span_id: string }>;
}

/** Sends spans; resolves once the receiver has them, and rejects where it has not. */
export interface SpanExporter {
  send(spans: readonly SpanRecord[]): Promise<void>;
  close(): Promise<void>;
}

export interface Tracer {
  /** The share of traces that is recorded, of those nobody has decided on. */
  readonly ratio: number;
  /** Whether requests to others say which span they belong to. */
  readonly propagates: boolean;
  /** Queues a span. Never waits: where the queue is full, the span is dropped and counted. */
  emit(span: SpanRecord): void;
  /** Counts a span that could not be made. */
  lost(): void;
  /** Sends what is queued, for as long as that may take at a stop. */
  close(): Promise<void>;
}

/** What of a span is known when it begins. */
export interface SpanStart extends Pick<SpanRecord, "trace_id" | "span_id" | "parent_id" | "name" | "kind"> {
  /** Whether its trace is recorded. */
  readonly sampled: boolean;
}

/** Begins a span now. What is returned ends it, and emits it where its trace is recorded. */
export function beginSpan(
  tracer: Tracer,
  { sampled, ...span }: SpanStart,
): (error: string | undefined, attributes: SpanRecord["attributes"]) => void {
  const start_ms = Date.now();
  return (error, attributes) => {
    if (sampled) tracer.emit({ ...span, start_ms, end_ms: Date.now(), error, attributes });
  };
}

export interface TracerOptions extends Pick<Tracer, "ratio" | "propagates"> {
  readonly exporter: SpanExporter;
  /** Spans that wait at most. */
  readonly queued?: number;
  /** How long a span waits for others (ms). */
  readonly intervalMs?: number;
  /** How long a stop waits for the receiver (ms). */
  readonly closeMs?: number;
  readonly onSpans: (outcome: "sent" | "failed" | "dropped", count: number) => void;
  readonly onError: (error: unknown) => void;
}

/** Spans of one request. */
const BATCH = 512;

/** Collects spans and sends them in batches, one after the other. */
export function createTracer(options: TracerOptions): Tracer {
  const { exporter, queued = 8192, intervalMs = 1000, closeMs = 3000, onSpans, onError } = options;
  let queue: SpanRecord[] = [];
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;

  async function sendAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH);
      queue = queue.slice(BATCH);
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
    emit(span) {
      if (queue.length >= queued) return onSpans("dropped", 1);
      queue.push(span);
      if (queue.length >= BATCH) void flush();
      else timer ??= setTimeout(() => void flush(), intervalMs).unref();
    },
    lost: () => onSpans("dropped", 1),
    async close() {
      let late: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        late = setTimeout(resolve, closeMs);
      });
      await Promise.race([flush().then(() => exporter.close()), limit]);
      clearTimeout(late);
      if (queue.length > 0) onSpans("dropped", queue.length);
    },
  };
}
