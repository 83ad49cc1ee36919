import { createHash, randomBytes } from "node:crypto";

/** The position of a span in a trace, as W3C Trace Context defines it. */
export interface SpanContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly trace_id: string;
  /** 16 such digits. */
  readonly span_id: string;
  readonly sampled: boolean;
}

/** The format of version 00. A later version may be longer, but begins in the same way. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_CHARS = 512;

/** Reads a `traceparent` header; undefined if it is not one. */
export function parseTraceparent(header: unknown): SpanContext | undefined {
  if (typeof header !== "string" || header.length > MAX_CHARS) return undefined;
  const [, version, trace_id = "", span_id = "", flags = "", rest] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(trace_id) || /^0+$/.test(span_id)) return undefined;
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ trace_id, span_id, sampled }: SpanContext): string {
  return `00-${trace_id}-${span_id}-${sampled ? "01" : "00"}`;
}

/** The trace ID for a name, if no caller started a trace. The same name always gives the same ID. */
export const traceIdOf = (name: string): string => digest(["trace", name]).slice(0, 32);

/** The span ID of a path, computed from the path, so that writing it twice writes the same span. */
export const spanIdOf = (...place: ReadonlyArray<string | number>): string => digest(["span", ...place]).slice(0, 16);

export const randomTraceId = (): string => randomBytes(16).toString("hex");
export const randomSpanId = (): string => randomBytes(8).toString("hex");

function digest(parts: ReadonlyArray<string | number>): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Whether to record a trace if its caller has not decided. All processes decide the same, because they decide by the trace's ID. */
export function isSampled(traceId: string, ratio: number): boolean {
  // The last seven bytes are the random ones of a trace id.
  return Number.parseInt(traceId.slice(-14), 16) < ratio * 2 ** 56;
}
