import { isUuid } from "../../domain/uuid.ts";
import type { Database } from "../../stores/db.ts";
import { LOWEST_ID } from "../../stores/keyset.ts";
import { scheduleMark } from "../../temporal/schedules.ts";
import type { ListedSchedule, Schedules } from "../../temporal/schedules.ts";
import type { ScheduleKind, ScheduleOwner } from "./apply.ts";

const PAGE = 500;

/** How Temporal's schedules differ from the rows that ask for them. */
export interface ScheduleDifferences {
  /** Rows whose schedule is missing or differs. */
  readonly missing: ReadonlyArray<ScheduleOwner & { readonly kind: ScheduleKind }>;
  /** Ids of this installation's schedules that no row asks for. */
  readonly orphans: readonly string[];
  readonly compared: number;
}

/**
 * Compares both ways. Temporal is listed first: each listed schedule already has its row, so a new one is not taken
 * for an orphan. Schedules in other installations' queues are ignored.
 */
export async function compareSchedules(
  { db, schedules }: { readonly db: Database; readonly schedules: Pick<Schedules, "list" | "isOurs"> },
  kinds: readonly ScheduleKind[],
): Promise<ScheduleDifferences> {
  const listed = new Map<string, ListedSchedule>();
  for await (const each of schedules.list())
    if (kinds.some(({ prefix }) => each.id.startsWith(prefix) && isUuid(each.id.slice(prefix.length))))
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
        const same = found?.mark === scheduleMark(schedule) && found.paused === schedule.paused;
        if (!same) missing.push({ org_id, id, kind });
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
