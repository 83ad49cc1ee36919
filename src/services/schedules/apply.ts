import type { Logger } from "../../platform/logging/logger.ts";
import type { Db } from "../../stores/db.ts";
import { ScheduleRefused, type Schedule } from "../../temporal/schedules.ts";
import type { Parts } from "../parts.ts";

/** A row that has a schedule in Temporal. */
export interface ScheduleOwner {
  readonly org_id: string;
  readonly id: string;
}

/** The schedule that a row requires. */
export interface WantedSchedule {
  /** Identifies the required schedule; it changes whenever the row requires another one. */
  readonly revision: string;
  /** Null if the row requires no schedule. */
  readonly schedule: Schedule | null;
}

/**
 * One kind of rows with schedules. The schedule in Temporal always follows its row. The optional methods are for rows
 * that people change; schedules that follow from the code do without them.
 */
export interface ScheduleKind {
  /** A schedule's ID is this prefix and the row's ID. */
  readonly prefix: string;
  /** True if the IDs after the prefix are names; false or omitted: UUIDs. */
  readonly named?: boolean;
  /** The schedule that a row of the organisation requires; null if the row does not exist. */
  read(db: Db, id: string): Promise<WantedSchedule | null>;
  /** Whether Temporal is known to have the required schedule; for rows whose changes often do not affect it. */
  isApplied?(db: Db, id: string): Promise<boolean>;
  /** Records that Temporal has this revision of the row's schedule. False if the row now requires another one. */
  applied?(db: Db, id: string, revision: string): Promise<boolean>;
  /** Records that Temporal refuses this revision of the row's schedule. */
  refused?(db: Db, id: string, revision: string, message: string): Promise<void>;
  /** Rows whose schedule may not be in Temporal yet, with a share for each organisation. For connections of the system only. */
  unapplied?(db: Db, limit: number): Promise<readonly ScheduleOwner[]>;
  /** All required schedules whose rows' IDs come after `after`, in the order of these IDs. For connections of the system only. */
  wanted(db: Db, after: string, limit: number): Promise<ReadonlyArray<ScheduleOwner & { readonly schedule: Schedule }>>;
}

export type ApplyDeps = Parts<"db" | "schedules">;

/** Attempts while the row keeps changing; afterwards the sweeper applies the schedule. */
const ATTEMPTS = 5;

/**
 * Makes Temporal's schedule match its row. No row is locked during the call to Temporal. If the row has changed
 * meanwhile, this call may have undone a later change that another process applied, so the schedule is applied again.
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
      // Removes the earlier schedule too, because no schedule is better than an outdated one.
      await schedules.remove(kind.prefix + id);
      if (!kind.refused) throw error;
      await db.org(org_id, async (connection) => kind.refused?.(connection, id, revision, error.message));
      return;
    }
    if (await db.org(org_id, async (connection) => kind.applied?.(connection, id, revision) ?? true)) return;
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
    deps.logger.warn({ err, schedule: kind.prefix + owner.id }, "could not apply a schedule yet; it will be retried");
  }
}
