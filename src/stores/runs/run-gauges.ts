import type { RunState, TerminalState } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";

/** The unfinished runs of one state. */
export interface LiveRuns {
  readonly state: Exclude<RunState, TerminalState>;
  readonly runs: number;
  /** How long the oldest has been due (PENDING), paused (PAUSED) or running (s). */
  readonly oldest_seconds: number;
}

/** How many runs are in each unfinished state, and for how long the oldest has been. System only. */
export async function countLiveRunsByState(db: Db): Promise<LiveRuns[]> {
  return db.query<LiveRuns>(`select state, count(*)::integer as runs,
      greatest(0, extract(epoch from clock_timestamp() - min(case state
        when 'PENDING' then greatest(created_at, run_at)
        when 'PAUSED' then paused_at
        else coalesce(started_at, created_at) end)))::float8 as oldest_seconds
    from runs where state in (${OPEN}) group by state`);
}
