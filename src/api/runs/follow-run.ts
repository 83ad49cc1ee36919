import { isTerminal } from "../../domain/runs/run.ts";
import { getRun, type RunRow } from "../../stores/runs/runs.ts";
import { getRunBeyond } from "../../stores/runs/run-reads.ts";
import type { Texts } from "../../services/runs/live-texts.ts";
import { endedBefore, listRunEvents, type RunEventRow } from "../../stores/runs/run-events.ts";
import type { RunService } from "../../services/runs/run-service.ts";
import type { Database } from "../../stores/db.ts";

interface FollowDeps extends Pick<RunService, "waiter" | "texts"> {
  readonly db: Database;
  /** Time without changes after which `null` is yielded. */
  readonly keepAliveMs: number;
}

/** The current state of a run, and the texts that its models have written so far. */
export interface RunMoment {
  readonly row: RunRow;
  readonly texts: Texts;
}

const NO_TEXTS: Texts = new Map();

/**
 * Follows a run: yields its state immediately, then whenever its record or a text of one of the nodes at `paths` has changed, and last its
 * terminal row; null if nothing has happened for a while. Changes that arrive while the consumer is busy are merged. Ends early, without an
 * error, when the client disconnects or the process stops; the run continues.
 */
export async function* followRun(
  { db, waiter, texts, keepAliveMs }: FollowDeps,
  run: RunRow,
  paths: ReadonlySet<string>,
  signal: AbortSignal,
): AsyncGenerator<RunMoment | null, void> {
  let row = run;
  let seen = "";
  yield { row, texts: NO_TEXTS };
  if (isTerminal(row.state) || waiter.closed) return;
  const growing = paths.size > 0 ? texts.follow(run) : null;
  const watch = waiter.watch(run.run_id, { signal, texts: growing !== null });
  const read = async (written: RunRow | undefined, textOnly: boolean): Promise<RunMoment | null> => {
    const { org_id, run_id, state, event_seq } = row;
    const next = textOnly
      ? null
      : written && written.event_seq > event_seq
        ? written
        : await db.org(org_id, (connection) => getRunBeyond(connection, { run_id, state, event_seq }));
    const now = growing === null ? NO_TEXTS : await growing.read(false);
    const position = positionOf(now, paths);
    if (next === null && position === seen) return null;
    seen = position;
    return { row: next ?? row, texts: now };
  };
  try {
    while (!isTerminal(row.state) && !waiter.closed) {
      const next = await unlessGone(signal, watch.until(read, keepAliveMs));
      if (next === "gone") return;
      if (next) row = next.row;
      if (next || !waiter.closed) yield next;
    }
  } finally {
    watch.close();
    growing?.close();
  }
}

function positionOf(texts: Texts, paths: ReadonlySet<string>): string {
  return [...paths].map((path) => lengthOf(texts, path)).join();
}

function lengthOf(texts: Texts, path: string): string {
  const known = texts.get(path);
  return known ? `${known.attempt}.${known.step}.${known.text.length}` : "";
}

async function unlessGone<T>(signal: AbortSignal, wait: Promise<T>): Promise<T | "gone"> {
  try {
    return await wait;
  } catch (error) {
    if (signal.aborted) return "gone";
    throw error;
  }
}

/** Events read with one query. */
const EVENT_PAGE = 500;

/** A new piece of a text that a model writes. It has no number of its own, so it may come again after a reconnect. */
interface TextPiece {
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
