import { Readable } from "node:stream";
import type { ContentAnswer } from "./operation.ts";

export const EVENT_STREAM = "text/event-stream";
export const NDJSON = "application/x-ndjson";

const HEADERS = {
  "Cache-Control": "no-store",
  // Buffering proxies would delay events.
  "X-Accel-Buffering": "no",
};

/** A server-sent event. `data` is written as JSON, which contains no line breaks. Without an ID, a client resumes after the ID before. */
export function serverSentEvent(id: number | null, type: string | null, data: unknown): string {
  return `${id === null ? "" : `id: ${id}\n`}${type === null ? "" : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** A comment line, which clients ignore. */
export const SSE_COMMENT = ": keep-alive\n\n";

/**
 * Responds with a stream of texts. The next text is requested only when the client has received the earlier ones, and none after it has
 * disconnected.
 */
export function answerStream(
  type: string,
  texts: AsyncGenerator<string, void>,
  headers: Record<string, string> = {},
): ContentAnswer {
  return {
    status: 200,
    type,
    content: Readable.from(texts, { highWaterMark: 1 }),
    headers: { ...HEADERS, ...headers },
  };
}
