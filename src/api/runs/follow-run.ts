import { isTerminal } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { getRunBeyond } from "../../stores/runs/run-reads.ts";
import type { ApiDeps } from "../deps.ts";
import type { LiveTexts, Texts } from "../../services/runs/live-texts.ts";
import type { RunWaiter } from "../../services/runs/run-waiter.ts";

export interface FollowDeps {
  readonly db: ApiDeps["db"];
  readonly waiter: RunWaiter;
  readonly texts: LiveTexts;
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

export async function unlessGone<T>(signal: AbortSignal, wait: Promise<T>): Promise<T | "gone"> {
  try {
    return await wait;
  } catch (error) {
    if (signal.aborted) return "gone";
    throw error;
  }
}
