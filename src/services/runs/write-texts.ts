import { isConnectionError } from "../../stores/db.ts";
import { appendDeltas, beginText, type DeltaRow, type TextPlace } from "../../stores/runs/run-deltas.ts";
import { shareWrites } from "../shared-writes.ts";
import type { Parts } from "../parts.ts";

/** How long pieces of a text are collected for one write (ms); the first is written immediately. */
const FLUSH_MS = 100;
/** Most pieces written by one statement. */
const MAX_TOGETHER = 200;

export type TextWriter = ReturnType<typeof createTextWriter>;

export interface TextWriterDeps extends Parts<"db" | "feed"> {
  readonly onError: (error: unknown) => void;
  readonly flushMs?: number;
}

/** A text since it last started over. */
interface Text {
  readonly beginning: number;
  /** Known once the first piece is written. */
  attempt: number | undefined;
  written: number;
  /** A piece whose write is in flight. Repeated unchanged after an error, because the write may have succeeded. */
  sending: string;
  waiting: string;
}

/** Writes the growing texts of models for clients that watch a run. A failed write is only missing in the live view. */
export function createTextWriter({ db, feed, onError, flushMs = FLUSH_MS }: TextWriterDeps) {
  const append = shareWrites(
    (rows: ReadonlyArray<DeltaRow & { readonly org_id: string }>) =>
      db.org(rows[0]?.org_id ?? "", (connection) => appendDeltas(connection, rows)),
    isConnectionError,
    { maxTogether: MAX_TOGETHER },
  );

  return {
    open(place: TextPlace & { readonly org_id: string }) {
      let text = begin(0);
      let timer: NodeJS.Timeout | undefined;
      let flushing: Promise<void> | undefined;
      let flushedAt = 0;
      let closed = false;

      async function flush(): Promise<void> {
        const now = text;
        now.sending ||= takeWhole(now, closed);
        if (now.sending === "") return;
        const { sending, attempt } = now;
        if (attempt === undefined) {
          now.attempt = await db.org(place.org_id, (connection) => beginText(connection, place, sending));
        } else {
          await append(place.org_id, { ...place, attempt, from_char: now.written, text: sending });
        }
        now.written += sending.length;
        now.sending = "";
        feed.changed(place.run_id, "text");
      }

      function schedule(): void {
        if (closed || flushing || timer) return;
        const wait = flushedAt + flushMs - Date.now();
        if (wait > 0) timer = setTimeout(start, wait);
        else start();
      }

      function start(): void {
        timer = undefined;
        flushing = flush()
          .catch(onError)
          .finally(() => {
            flushing = undefined;
            flushedAt = Date.now();
            if (text.sending !== "" || text.waiting !== "") schedule();
          });
      }

      return {
        /** If `beginning` differs from the last piece's, the text starts over. An empty piece changes nothing. */
        write(piece: string, beginning: number): void {
          if (piece === "") return;
          if (beginning !== text.beginning) text = begin(beginning);
          text.waiting += piece;
          schedule();
        },
        /** Resolves when everything received is written or has failed. */
        async close(): Promise<void> {
          closed = true;
          clearTimeout(timer);
          await flushing;
          // A failed piece is retried once, ahead of the rest.
          for (let pieces = 0; pieces < 2 && (text.sending !== "" || text.waiting !== ""); pieces += 1) {
            await flush().catch(onError);
          }
        },
      };
    },
  };
}

function begin(beginning: number): Text {
  return { beginning, attempt: undefined, written: 0, sending: "", waiting: "" };
}

/** Takes the waiting text in the form that Postgres accepts; a lone surrogate waits for its other half. */
function takeWhole(text: Text, isEnd: boolean): string {
  const cut = !isEnd && /[\uD800-\uDBFF]$/.test(text.waiting) ? -1 : text.waiting.length;
  const taken = text.waiting.slice(0, cut);
  text.waiting = text.waiting.slice(taken.length);
  return taken.toWellFormed().replaceAll("\0", "\uFFFD");
}
