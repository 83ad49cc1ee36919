import type { Logger } from "../../platform/logging/logger.ts";
import type { Database, Db } from "../../stores/db.ts";
import { ScheduleRefused } from "../../temporal/schedules.ts";
import type { Schedule, Schedules } from "../../temporal/schedules.ts";

/** A row that has a schedule in Temporal. */
export interface ScheduleOwner {
  readonly org_id: string;
  readonly id: string;
}

/** The schedule that a row asks for. */
export interface WantedSchedule {
  /** Identifies the wanted schedule; it changes whenever the row asks for another one. */
  readonly revision: string;
  /** Null: the row wants no schedule. */
  readonly schedule: Schedule | null;
}

/** Rows of one kind that have schedules. The row decides, and the schedule follows. */
export interface ScheduleKind {
  /** The id of a schedule is this prefix and the row's id. */
  readonly prefix: string;
  /** What the organisation's row asks for; null where there is no such row. */
  read(db: Db, id: string): Promise<WantedSchedule | null>;
  /** Whether Temporal is known to have what the row asks for; for rows whose changes often leave the schedule alone. */
  isApplied?(db: Db, id: string): Promise<boolean>;
  /** Notes that Temporal has this revision of the row's schedule. False if the row asks for another one by now. */
  applied(db: Db, id: string, revision: string): Promise<boolean>;
  /** Notes that Temporal refuses this revision of the row's schedule. */
  refused(db: Db, id: string, revision: string, message: string): Promise<void>;
  /** Rows whose schedule may not be in Temporal yet, shared out among organisations. System only. */
  unapplied(db: Db, limit: number): Promise<readonly ScheduleOwner[]>;
  /** All wanted schedules behind `after`, in the order of their rows' ids. System only. */
  wanted(db: Db, after: string, limit: number): Promise<ReadonlyArray<ScheduleOwner & { readonly schedule: Schedule }>>;
}

export interface ApplyDeps {
  readonly db: Database;
  readonly schedules: Schedules;
}

/** Attempts while the row keeps changing, before the sweeper takes over. */
const ATTEMPTS = 5;

/**
 * Makes Temporal's schedule match its row. No row is locked during the call to Temporal. If the row has changed
 * afterwards, another process may already have applied the later change, and this call may have undone it: so it is
 * applied again.
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
      // Better no schedule than an earlier one that nobody wants any more.
      await schedules.remove(kind.prefix + id);
      await db.org(org_id, (connection) => kind.refused(connection, id, revision, error.message));
      return;
    }
    if (await db.org(org_id, (connection) => kind.applied(connection, id, revision))) return;
  }
}

/** Makes Temporal's schedule follow a committed change of its row. If that fails, a worker does it later. */
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
