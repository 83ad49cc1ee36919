import type { NodeFailure } from "../../../runs/failure.ts";
import { Duration, failed, Timestamp } from "./values.ts";

const NANOS_PER_MS = 1_000_000n;
const NANOS_PER_SECOND = 1_000_000_000n;

/** Years 1 to 9999, as in protobuf. */
const FIRST_TIMESTAMP = -62_135_596_800n * NANOS_PER_SECOND;
const LAST_TIMESTAMP = 253_402_300_800n * NANOS_PER_SECOND - 1n;
/** The most nanoseconds that fit into 64 bits. */
const MAX_DURATION = 2n ** 63n - 1n;

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;

const UNIT_NANOS: ReadonlyMap<string, bigint> = new Map([
  ["h", 3_600n * NANOS_PER_SECOND],
  ["m", 60n * NANOS_PER_SECOND],
  ["s", NANOS_PER_SECOND],
  ["ms", NANOS_PER_MS],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["ns", 1n],
]);

export const makeTimestamp = (nanos: bigint): Timestamp => {
  if (nanos < FIRST_TIMESTAMP || nanos > LAST_TIMESTAMP)
    throw failed("A timestamp must be between the years 1 and 9999");
  return new Timestamp(nanos);
};

export const makeDuration = (nanos: bigint): Duration => {
  if (nanos > MAX_DURATION || nanos < -MAX_DURATION) throw failed("A duration can be at most 292 years");
  return new Duration(nanos);
};

/** Reads RFC 3339 text, e.g. "2024-05-01T10:00:00Z". Throws NodeFailure. */
export const parseTimestamp = (text: string): Timestamp => {
  const found = RFC_3339.exec(text);
  const [, date, time, fraction = "", zone] = found ?? [];
  const ms = date === undefined ? Number.NaN : Date.parse(`${date}T${time}${zone?.toUpperCase()}`);
  // Date.parse reads 30 February as 1 March, which shows when the date is read back.
  const isReal = new Date(Date.parse(`${date}T00:00:00Z`)).getUTCDate() === Number(date?.slice(8));
  if (Number.isNaN(ms) || !isReal) {
    throw failed(`${JSON.stringify(text.slice(0, 40))} is not an RFC 3339 timestamp such as "2024-05-01T10:00:00Z"`);
  }
  return makeTimestamp(BigInt(ms) * NANOS_PER_MS + BigInt(fraction.padEnd(9, "0")));
};

/** Reads durations such as "90s", "1h30m" or "-1.5s". Throws NodeFailure. */
export const parseDuration = (text: string): Duration => {
  const bad = failed(`${JSON.stringify(text.slice(0, 40))} is not a duration such as "90s", "1h30m" or "250ms"`);
  if (text.length > 60) throw bad;
  const unsigned = text.replace(/^[+-]/, "");
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+$/.test(unsigned) && unsigned !== "0") throw bad;
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of unsigned.matchAll(/(\d*)(?:\.(\d*))?(h|ms|m|s|us|µs|ns)/gy)) {
    const perUnit = UNIT_NANOS.get(unit) as bigint;
    nanos += BigInt(whole || "0") * perUnit;
    nanos += (BigInt(fraction.slice(0, 18).padEnd(18, "0")) * perUnit) / 10n ** 18n;
  }
  return makeDuration(text.startsWith("-") ? -nanos : nanos);
};

const fractionText = (nanos: bigint): string =>
  nanos === 0n
    ? ""
    : `.${nanos
        .toString()
        .padStart(9, "0")
        .replace(/(?:000){1,3}$/, "")}`;

/** RFC 3339 text in UTC, with as many digits of a second as it needs (0, 3, 6 or 9). */
export const formatTimestamp = ({ nanos }: Timestamp): string => {
  const fraction = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  const seconds = (nanos - fraction) / NANOS_PER_SECOND;
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, 19)}${fractionText(fraction)}Z`;
};

/** Seconds, e.g. "5400s" or "3.5s". */
export const formatDuration = ({ nanos }: Duration): string => {
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = (size % NANOS_PER_SECOND)
    .toString()
    .padStart(9, "0")
    .replace(/0{1,9}$/, "");
  return `${nanos < 0n ? "-" : ""}${size / NANOS_PER_SECOND}${fraction === "" ? "" : `.${fraction}`}s`;
};

const MAX_ZONE_CHARS = 100;
const FIXED_ZONE = /^([+-]?)(\d\d):(\d\d)$/;

/** Whether a zone's offset is the same on every machine; named zones depend on the machine's tables. */
export const isFixedZone = (zone: string): boolean => zone === "UTC" || FIXED_ZONE.test(zone);

const unknownZone = (zone: string): NodeFailure =>
  failed(`${JSON.stringify(zone.slice(0, 40))} is not a time zone such as "Europe/Berlin" or "+02:00"`);

/** Minutes that a zone is ahead of UTC at an instant; "+02:00" or a name such as "Europe/Berlin". */
export const offsetMinutes = (zone: string, ms: number): number => {
  if (zone.length > MAX_ZONE_CHARS) throw unknownZone(zone);
  const fixed = FIXED_ZONE.exec(zone);
  if (fixed) return (fixed[1] === "-" ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3]));
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
    const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"));
    return Math.round((local - ms) / 60_000);
  } catch {
    throw unknownZone(zone);
  }
};

/** The instant as a Date whose UTC fields show the zone's wall clock. */
export const wallClock = ({ nanos }: Timestamp, zone = "UTC"): Date => {
  const ms = Number((nanos - (((nanos % NANOS_PER_MS) + NANOS_PER_MS) % NANOS_PER_MS)) / NANOS_PER_MS);
  return new Date(zone === "UTC" ? ms : ms + offsetMinutes(zone, ms) * 60_000);
};

/** From 0, by the date's UTC fields. */
export const dayOfYear = (date: Date): number =>
  Math.floor((date.getTime() - new Date(0).setUTCFullYear(date.getUTCFullYear(), 0, 1)) / 86_400_000);

/** The parts of a timestamp. Months, weekdays, days of the month and days of the year count from 0, dates from 1. */
export const TIMESTAMP_PARTS: ReadonlyMap<string, (date: Date) => number> = new Map([
  ["getFullYear", (date: Date) => date.getUTCFullYear()],
  ["getMonth", (date: Date) => date.getUTCMonth()],
  ["getDate", (date: Date) => date.getUTCDate()],
  ["getDayOfMonth", (date: Date) => date.getUTCDate() - 1],
  ["getDayOfWeek", (date: Date) => date.getUTCDay()],
  ["getDayOfYear", dayOfYear],
  ["getHours", (date: Date) => date.getUTCHours()],
  ["getMinutes", (date: Date) => date.getUTCMinutes()],
  ["getSeconds", (date: Date) => date.getUTCSeconds()],
  ["getMilliseconds", (date: Date) => date.getUTCMilliseconds()],
]);

/** The parts of a duration: all of it in that unit, rounded towards zero; only getMilliseconds returns the part beside the seconds. */
export const DURATION_PARTS: ReadonlyMap<string, (nanos: bigint) => bigint> = new Map([
  ["getHours", (nanos: bigint) => nanos / (3_600n * NANOS_PER_SECOND)],
  ["getMinutes", (nanos: bigint) => nanos / (60n * NANOS_PER_SECOND)],
  ["getSeconds", (nanos: bigint) => nanos / NANOS_PER_SECOND],
  ["getMilliseconds", (nanos: bigint) => (nanos % NANOS_PER_SECOND) / NANOS_PER_MS],
]);
