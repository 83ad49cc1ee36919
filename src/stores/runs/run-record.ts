import { uuidv7 } from "uuidv7";
import { isTerminal, type PauseOpening, type RunState, type RunUpdate } from "../../domain/runs/run.ts";
import { MAX_EVENT_DATA_BYTES } from "../../domain/webhooks/events.ts";
import { jsonb } from "../jsonb.ts";
import { aroundRun, STOPPED_AROUND } from "../around.ts";
import type { Db } from "../db.ts";
import type { RunEventType } from "./run-events.ts";
import type { RunRow } from "./runs.ts";
import { TERMINAL } from "../states.ts";

/** An entry of a run's event log before it has its number. */
export interface RunEventDraft {
  readonly type: Exclude<RunEventType, "run.state" | "run.paused" | "run.finished">;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The changes by a write. */
export interface RunWriteResult {
  /** The states of the run before and after the write. */
  readonly old_state: RunState;
  readonly state: RunState;
  readonly project_id: string;
  /** Time from the run's creation (or its run_at) to this write. */
  readonly latency_ms: number;
  /** Paths of the nodes whose record this write changed, except nodes that had finished before. */
  readonly changed_nodes: readonly string[];
  /**
   * Whether nothing more of the run may start, as of the beginning of the write: see `isStopped`. Known only for a write that says that
   * a node starts and does not change the run's state; otherwise false.
   */
  readonly stopped: boolean;
  /** The run afterwards, if the write changed its state. */
  readonly row: RunRow | null;
}

/** Time without a change after which the sweeper checks a run (ms). */
const DEFAULT_CHECK_MS = 60_000;

// Writes are one Postgres function, so that state, nodes, events and outbox agree after any crash, in one round trip. Its text is in
// migrations/functions/record_run.sql.
const CALL = `from record_run($1::uuid, $2::text, $3::text, $4::timestamptz, $5::text, $6::jsonb, $7::jsonb, $8::jsonb, $9::jsonb,
  $10::uuid[], $11::jsonb, $12::jsonb, $13::jsonb, $14::float8, $15::uuid[], $16::integer) where old_state is not null`;
const CHANGED = "old_state, new_state as state, project as project_id, latency_ms, changed_nodes";
const RECORD_PROGRESS = `select ${CHANGED}, false as stopped ${CALL}`;
const RECORD_START = `with recursive ${aroundRun("$1")} select ${CHANGED}, ${STOPPED_AROUND} as stopped ${CALL}`;
// Waiters for a change of state receive the row with the write itself.
const RECORD_STATE = `select ${CHANGED}, false as stopped, (run).* ${CALL}`;

/**
 * Persists the changes of a run since the last write: its state, nodes, pauses, events and the outbox rows of the
 * change of state. Never changes a terminal state. Returns the changes, or null if there is no such run.
 */
export async function recordRun(
  db: Db,
  update: RunUpdate,
  events: readonly RunEventDraft[],
  checkAfterMs = DEFAULT_CHECK_MS,
): Promise<RunWriteResult | null> {
  const withRow = update.state !== undefined;
  const progress = update.nodes.some(({ state }) => state === "RUNNING") ? RECORD_START : RECORD_PROGRESS;
  const written = await db.first<Omit<RunWriteResult, "row"> & RunRow>(withRow ? RECORD_STATE : progress, [
    update.run_id,
    update.temporal_run_id === "" ? null : update.temporal_run_id,
    update.state ?? null,
    update.started_at,
    update.state_reason ?? null,
    update.outputs ? jsonb(update.outputs) : null,
    jsonb(update.nodes),
    jsonb(events),
    jsonb((update.pauses_opened ?? []).map(withTexts)),
    update.pauses_taken ?? [],
    update.checkpoint ? jsonb(update.checkpoint) : null,
    update.error ? jsonb(update.error) : null,
    jsonb(update.progress),
    checkAfterMs,
    // IDs for the events that a write may publish: the run's start, and its new state.
    [uuidv7(), uuidv7()],
    MAX_EVENT_DATA_BYTES,
  ]);
  if (!written) return null;
  const { old_state, latency_ms, changed_nodes, stopped, ...row } = written;
  const { state, project_id } = row;
  return { old_state, state, project_id, latency_ms, changed_nodes, stopped, row: withRow ? row : null };
}

/** A pause with the JSON text of what people read, because jsonb does not keep the order of fields. */
function withTexts(pause: PauseOpening): PauseOpening & { readonly data_text: string; readonly form_text: string } {
  return { ...pause, data_text: jsonb(pause.data), form_text: jsonb(pause.form) };
}

/** Locks the run's row first, like every writer of a run's data. */
export async function lockRun(db: Db, runId: string): Promise<void> {
  await db.query("select 1 from runs where run_id = $1::uuid for update", [runId]);
}

/** Whether a finished run has a checkpoint. */
export function keepsCheckpoint(state: RunState | undefined): boolean {
  return state !== undefined && isTerminal(state);
}

/**
 * Adds up the usage of a run and of its parent runs again, because a call that was cancelled with its run is recorded after the run has
 * finished. Skips unfinished runs, whose end adds it up.
 */
export async function recountUsage(db: Db, runId: string, path: string): Promise<void> {
  await db.query(
    `update node_runs set usage = node_usage(run_id, path)
     where run_id = $1::uuid and path = $2::text and finished_at is not null`,
    [runId, path],
  );
  for (let id: string | null = runId; id !== null;) {
    id = await db.value<string>(
      `update runs set usage = coalesce(run_usage(run_id), usage)
       where run_id = $1::uuid and state in (${TERMINAL}) returning parent_run_id`,
      [id],
    );
  }
}
