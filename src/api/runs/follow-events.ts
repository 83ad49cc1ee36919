import { isTerminal } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { endedBefore, listRunEvents } from "../../stores/runs/run-events.ts";
import type { RunEventRow } from "../../stores/runs/run-events.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { Texts } from "../../services/runs/live-texts.ts";
import { unlessGone } from "./follow-run.ts";
import type { FollowDeps } from "./follow-run.ts";

/** Events read with one query. */
const EVENT_PAGE = 500;

/** A new piece of a text that a model writes. It has no number of its own, so it may come again after a reconnect. */
export interface TextPiece {
  readonly type: "output.delta";
  readonly seq: number;
  readonly at: string;
  readonly data: {
    readonly node_id: string;
    readonly path: string;
    readonly attempt: number;
    readonly step: number;
    /** Length of the text before it, in UTF-16 units. */
    readonly offset: number;
    readonly text: string;
  };
}

/** How much of each text the client has received, and which texts are complete. */
class SentTexts {
  readonly #sent = new Map<string, { attempt: number; step: number; length: number }>();
  readonly #ended: Set<string>;

  constructor(ended: readonly string[]) {
    this.#ended = new Set(ended);
  }

  /** The new pieces of all texts, or of one; `seq` is the number of the last event before them. */
  *take(texts: Texts, seq: number, only?: string): Generator<TextPiece, void> {
    for (const [path, { attempt, step, text }] of texts) {
      if (this.#ended.has(path) || (only !== undefined && only !== path)) continue;
      const sent = this.#sent.get(path);
      const isSame = sent !== undefined && sent.attempt === attempt && sent.step === step;
      const offset = isSame ? sent.length : 0;
      if (offset === text.length) continue;
      this.#sent.set(path, { attempt, step, length: text.length });
      const node_id = path.slice(path.lastIndexOf("/") + 1);
      const data = { node_id, path, attempt, step, offset, text: text.slice(offset) };
      yield { type: "output.delta", seq, at: new Date().toISOString(), data };
    }
  }

  end(path: string): void {
    this.#ended.add(path);
  }

  /** Whether a model has written text that the client has not received. */
  isBehind(texts: Texts): boolean {
    for (const [path, { attempt, step, text }] of texts) {
      const sent = this.#sent.get(path);
      if (this.#ended.has(path)) continue;
      if (sent?.attempt !== attempt || sent.step !== step || sent.length !== text.length) return true;
    }
    return false;
  }
}

/**
 * The events of a run after number `after`, up to `run.finished`, and, if `withTexts` is set, the texts that its models write: a node's
 * text comes before its end. Null if nothing has happened for a while. Ends like `followRun`.
 */
export async function* followEvents(
  { db, waiter, texts, keepAliveMs }: FollowDeps,
  run: Pick<RunRow, "org_id" | "run_id">,
  { after, withTexts, signal }: { readonly after: number; readonly withTexts: boolean; readonly signal: AbortSignal },
): AsyncGenerator<RunEventRow | TextPiece | null, void> {
  const { org_id, run_id } = run;
  let seen = after;
  const ended =
    withTexts && after > 0 ? await db.org(org_id, (connection) => endedBefore(connection, run_id, after)) : [];
  const sent = new SentTexts(ended);
  const growing = withTexts ? texts.follow(run) : null;
  const watch = waiter.watch(run_id, { signal, texts: withTexts });

  const read = async (_: RunRow | undefined, textOnly: boolean): Promise<Batch | null> => {
    const events = textOnly
      ? []
      : await db.org(org_id, (connection) => listRunEvents(connection, run_id, seen, EVENT_PAGE));
    // Read after the events, and complete if one of them is an end: all text written before an end is stored by then, even if its
    // notification is still on its way.
    const now = (await growing?.read(events.some(isEnd))) ?? new Map();
    if (events.length > 0 || sent.isBehind(now)) return { events, texts: now };
    if (textOnly) return null;
    // A finished run yields nothing more once the client has its last event.
    const row = await db.org(org_id, (connection) => getRun(connection, run_id));
    return !row || (isTerminal(row.state) && row.event_seq <= seen) ? { events, texts: now } : null;
  };

  try {
    for (;;) {
      const batch = await unlessGone(signal, watch.until(read, keepAliveMs));
      if (batch === "gone") return;
      if (batch === null) yield null;
      else {
        if (batch.events.length === 0 && !sent.isBehind(batch.texts)) return;
        for (const event of batch.events) {
          if (event.type === "node.finished") {
            const path = event.data["path"] as string;
            yield* sent.take(batch.texts, seen, path);
            sent.end(path);
          }
          if (event.type === "run.finished") yield* sent.take(batch.texts, seen);
          yield event;
          seen = event.seq;
          if (event.type === "run.finished") return;
        }
        // A full page of events is followed by the next, before newer texts.
        if (batch.events.length === EVENT_PAGE) watch.again();
        else yield* sent.take(batch.texts, seen);
      }
      if (waiter.closed) return;
    }
  } finally {
    watch.close();
    growing?.close();
  }
}

function isEnd({ type }: RunEventRow): boolean {
  return type === "node.finished" || type === "run.finished";
}

interface Batch {
  readonly events: readonly RunEventRow[];
  readonly texts: Texts;
}
