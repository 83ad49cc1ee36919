import { isTerminal } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { listRunEvents } from "../../stores/runs/run-events.ts";
import type { RunEventRow } from "../../stores/runs/run-events.ts";
import { getRunBeyond } from "../../stores/runs/run-reads.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { ApiDeps } from "../deps.ts";
import type { RunWaiter } from "../../services/runs/run-waiter.ts";

/** Events read at once. */
const EVENT_PAGE = 500;

export interface FollowDeps {
  readonly db: ApiDeps["db"];
  readonly waiter: RunWaiter;
  /** How long nothing may happen before `null` says so. */
  readonly keepAliveMs: number;
}

/**
 * The rows of a run as it changes: at once, then whenever its record has moved, last the terminal one; null when nothing
 * has happened for a while. Changes that come while the taker is busy are one. Ends early, without an error, when the
 * client goes away or the process stops; the run goes on.
 */
export async function* followRun(
  { db, waiter, keepAliveMs }: FollowDeps,
  run: RunRow,
  signal: AbortSignal,
): AsyncGenerator<RunRow | null, void> {
  let row = run;
  yield row;
  while (!isTerminal(row.state) && !waiter.closed) {
    const { org_id, run_id, state, event_seq } = row;
    const read = async (written?: RunRow): Promise<RunRow | null> =>
      written && written.event_seq > event_seq
        ? written
        : db.org(org_id, (client) => getRunBeyond(client, { run_id, state, event_seq }));
    const next = await unlessGone(signal, waiter.until(run_id, read, { timeoutMs: keepAliveMs, signal }));
    if (next === "gone") return;
    if (next) row = next;
    if (next || !waiter.closed) yield next;
  }
}

/** The events of a run after number `after`, up to `run.finished`; null when nothing has happened for a while. Ends as `followRun` does. */
export async function* followEvents(
  { db, waiter, keepAliveMs }: FollowDeps,
  run: Pick<RunRow, "org_id" | "run_id">,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<RunEventRow | null, void> {
  const { org_id, run_id } = run;
  let seen = after;
  for (;;) {
    const read = (): Promise<RunEventRow[] | null> =>
      db.org(org_id, async (client) => {
        const events = await listRunEvents(client, run_id, seen, EVENT_PAGE);
        if (events.length > 0) return events;
        // Nothing more will come of a run that has ended, for who has seen its last event already.
        const row = await getRun(client, run_id);
        return !row || (isTerminal(row.state) && row.event_seq <= seen) ? [] : null;
      });
    const events = await unlessGone(signal, waiter.until(run_id, read, { timeoutMs: keepAliveMs, signal }));
    if (events === "gone" || events?.length === 0) return;
    for (const event of events ?? [null]) {
      yield event;
      if (event) seen = event.seq;
      if (event?.type === "run.finished") return;
    }
    if (waiter.closed) return;
  }
}

async function unlessGone<T>(signal: AbortSignal, wait: Promise<T>): Promise<T | "gone"> {
  try {
    return await wait;
  } catch (error) {
    if (signal.aborted) return "gone";
    throw error;
  }
}
