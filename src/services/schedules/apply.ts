import type { Logger } from "../../platform/logging/logger.ts";
import type { Database, Db } from "../../stores/db.ts";
import { ScheduleRefused } from "../../temporal/schedules.ts";
import type { Schedule, Schedules } from "../../temporal/schedules.ts";

/** A row that Temporal has a schedule of. */
export interface ScheduleOwner {
  readonly org_id: string;
  readonly id: string;
}

/** What a row asks of Temporal. */
export interface WantedSchedule {
  /** What the schedule is of: another one as soon as the row asks for something else. */
  readonly revision: string;
  /** Null: there is to be none. */
  readonly schedule: Schedule | null;
}

/** Rows of one kind that have schedules: the row counts, and the schedule follows. */
export interface ScheduleKind {
  /** Ids of its schedules are this and the row's id. */
  readonly prefix: string;
  /** What the organisation's row asks for; null where there is no such row. */
  read(db: Db, id: string): Promise<WantedSchedule | null>;
  /** Whether Temporal is known to have what the row asks for, of rows that many changes do not concern. */
  isApplied?(db: Db, id: string): Promise<boolean>;
  /** Notes that Temporal has what the row asked for in this revision. False where it asks for something else by now. */
  applied(db: Db, id: string, revision: string): Promise<boolean>;
  /** Notes that Temporal refuses what the row asked for in this revision. */
  refused(db: Db, id: string, revision: string, message: string): Promise<void>;
  /** Rows that Temporal is not known to follow, shared out among organisations. System only. */
  unapplied(db: Db, limit: number): Promise<readonly ScheduleOwner[]>;
  /** The schedules that there are to be, in the order of their rows' ids, those behind `after`. System only. */
  wanted(db: Db, after: string, limit: number): Promise<ReadonlyArray<ScheduleOwner & { readonly schedule: Schedule }>>;
}

export interface ApplyDeps {
  readonly db: Database;
  readonly schedules: Schedules;
}

/** Attempts while the row keeps changing, before the sweeper takes over. */
const ATTEMPTS = 5;

/**
 * Makes Temporal's schedule of a row what the row asks for. No row is locked while Temporal is asked. Where the row is found changed
 * afterwards, another process may have been faster with the later change, and this one have undone it: then it is applied again.
 */
export async function applySchedule(
  { db, schedules }: ApplyDeps,
  kind: ScheduleKind,
  { org_id, id }: ScheduleOwner,
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const wanted = await db.org(org_id, (connection) => kind.read(connection, id));
    if (wanted === null) return;
    const { revision, schedule } = wanted;
    try {
      if (schedule === null) await schedules.remove(kind.prefix + id);
      else await schedules.put(schedule);
    } catch (error) {
      if (!(error instanceof ScheduleRefused)) throw error;
      // Without its schedule, rather than by an earlier one that nobody wants any more.
      await schedules.remove(kind.prefix + id);
      await db.org(org_id, (connection) => kind.refused(connection, id, revision, error.message));
      return;
    }
    if (await db.org(org_id, (connection) => kind.applied(connection, id, revision))) return;
  }
}

/** Makes Temporal's schedule follow a change of its row that has been committed: where that fails, a worker does it. */
export async function followSchedule(
  deps: ApplyDeps & { readonly logger: Logger },
  kind: ScheduleKind,
  owner: ScheduleOwner,
): Promise<void> {
  try {
    if (await deps.db.org(owner.org_id, async (connection) => kind.isApplied?.(connection, owner.id))) return;
    await applySchedule(deps, kind, owner);
  } catch (err) {
    deps.logger.warn({ err, schedule: kind.prefix + owner.id }, "a schedule is not applied yet");
  }
}
