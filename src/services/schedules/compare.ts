import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { LOWEST_ID } from "../../stores/keyset.ts";
import { ageOfMark, type ListedSchedule, type Schedules } from "../../temporal/schedules.ts";
import type { ScheduleKind, ScheduleOwner } from "./apply.ts";

const PAGE = 500;

/** The differences between Temporal's schedules and the rows that require them. */
export interface ScheduleDifferences {
  /** Rows whose schedule is missing or differs. */
  readonly missing: ReadonlyArray<ScheduleOwner & { readonly kind: ScheduleKind }>;
  /** IDs of this installation's schedules that no row requires. */
  readonly orphans: readonly string[];
  readonly compared: number;
}

export interface CompareOptions {
  /** Whether a schedule also differs if its list of times was computed in an earlier half-year, even if times are left. */
  readonly renews: boolean;
  readonly now: number;
}

/**
 * Finds missing and orphaned schedules. Temporal is listed before the rows, so that every listed schedule has its row
 * and a new one is not taken for an orphan. Schedules in other installations' queues are ignored.
 */
export async function compareSchedules(
  { db, schedules }: { readonly db: Database; readonly schedules: Pick<Schedules, "list" | "isOurs"> },
  kinds: readonly ScheduleKind[],
  { renews, now }: CompareOptions,
): Promise<ScheduleDifferences> {
  const listed = new Map<string, ListedSchedule>();
  for await (const each of schedules.list())
    if (
      kinds.some(({ prefix, named }) => each.id.startsWith(prefix) && (named || isUuid(each.id.slice(prefix.length))))
    )
      listed.set(each.id, each);
  const missing: Array<ScheduleOwner & { kind: ScheduleKind }> = [];
  let compared = 0;
  for (const kind of kinds) {
    for (let after = LOWEST_ID; ;) {
      const page = await db.system((connection) => kind.wanted(connection, after, PAGE));
      for (const { org_id, id, schedule } of page) {
        const found = listed.get(schedule.id);
        listed.delete(schedule.id);
        compared += 1;
        const age = found?.paused === schedule.paused ? ageOfMark(schedule, found.mark, now) : null;
        if (age === null || (renews && age > 0)) missing.push({ org_id, id, kind });
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      after = last.id;
    }
  }
  const orphans: string[] = [];
  for (const { id, mark } of listed.values()) if (await schedules.isOurs(id, mark)) orphans.push(id);
  return { missing, orphans, compared };
}
