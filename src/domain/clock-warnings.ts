import { clockChanges } from "./clock-changes.ts";
import { isDue } from "./cron-calendars.ts";
import { cronFields } from "./cron.ts";

const MINUTE = 60_000;
const YEAR = 366 * 86_400_000;
/** How many skipped times a warning names. */
const MAX_NAMED = 3;

/** Warns of the times of a cron expression within a year that are skipped in this zone when the clocks go forward. */
export function clockWarnings(cron: string, zone: string, now: number): string[] {
  const fields = cronFields(cron);
  return clockChanges(zone, now, now + YEAR).flatMap(({ at, before, after }) => {
    const moved = after - before;
    const skipped = Array.from({ length: Math.max(0, moved / MINUTE) }, (_, minute) => at + before + minute * MINUTE)
      .filter((local) => isDue(fields, local))
      // A repeating expression still fires at that moment if the time after the change is one of its times too.
      .filter((local) => !fields.isInterval || !isDue(fields, local + moved));
    if (skipped.length === 0) return [];
    const named = skipped.slice(0, MAX_NAMED).map((local) => new Date(local).toISOString().slice(11, 16));
    const more = skipped.length > MAX_NAMED ? ` and ${skipped.length - MAX_NAMED} more` : "";
    const day = new Date(at + before).toISOString().slice(0, 10);
    return [
      `On ${day} the clocks in ${zone} go forward and skip ${named.join(", ")}${more}: nothing runs at these times`,
    ];
  });
}
