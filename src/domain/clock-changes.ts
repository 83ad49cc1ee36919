import { timeZoneOf } from "./cron.ts";
import { cachedByText } from "./flow/expressions/cache.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
/** Step of the search: no zone changes its clocks twice within a week. */
const STEP = 7 * DAY;

export interface ClockChange {
  readonly at: number;
  /** How far local time is ahead of UTC (ms), before and after the change. */
  readonly before: number;
  readonly after: number;
}

const formatOf = cachedByText((zone) => new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" }));

/** How far local time is ahead of UTC (ms). */
export function offsetAt(zone: string, at: number): number {
  const name =
    formatOf(zone)
      .formatToParts(at)
      .find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name) ?? [];
  return (sign === "-" ? -1000 : 1000) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
}

/**
 * The clock changes of a zone in one UTC year, in order. The key is "2027 Europe/London"; a zone that this runtime does not know has none.
 */
const changesIn = cachedByText((yearOfZone): readonly ClockChange[] => {
  const [year = "", zone = ""] = yearOfZone.split(" ");
  return timeZoneOf(zone) === null ? [] : findChanges(zone, Date.UTC(Number(year)), Date.UTC(Number(year) + 1));
});

function findChanges(zone: string, from: number, to: number): readonly ClockChange[] {
  const changes: ClockChange[] = [];
  for (let low = from, before = offsetAt(zone, from); low < to; low += STEP) {
    const after = offsetAt(zone, Math.min(low + STEP, to));
    if (after !== before) changes.push({ at: firstWith(zone, low, Math.min(low + STEP, to), after), before, after });
    before = after;
  }
  return changes;
}

/** The first moment after `low` with this offset, at the latest `high`. */
function firstWith(zone: string, low: number, high: number, offset: number): number {
  while (high - low > MINUTE) {
    const middle = Math.floor((low + high) / 2 / MINUTE) * MINUTE;
    if (offsetAt(zone, middle) === offset) high = middle;
    else low = middle;
  }
  return high;
}

export function clockChanges(zone: string, from: number, to: number): ClockChange[] {
  const years: number[] = [];
  for (let year = new Date(from).getUTCFullYear(); Date.UTC(year) < to; year += 1) years.push(year);
  return years.flatMap((year) => changesIn(`${year} ${zone}`)).filter(({ at }) => at >= from && at < to);
}
