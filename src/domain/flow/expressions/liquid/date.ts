import { NodeFailure } from "../../../runs/failure.ts";
import { dayOfYear, offsetMinutes } from "../cel/time.ts";

/*
 * Millrace has its own date filter, because the engine's reads the machine's time zone and locale: the same template would render
 * differently on another machine, and a workflow could not be replayed.
 */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = "January February March April May June July August September October November December".split(" ");

const DEFAULT_FORMAT = "%A, %B %-e, %Y at %-l:%M %P %z";
const MAX_FORMAT_CHARS = 1_000;
const MAX_FIELD_WIDTH = 100;
const DIRECTIVE = /%([-_0^#:]*)((?:[1-9]\d*)?)([A-Za-z%])/g;
const ZONED = /(?:Z|GMT|UTC?|[A-Z][SD]T|[+-]\d{2}:?\d{2})\)?\s*$/i;

/** The time that a value means: "now", seconds since 1970, or text with a date (UTC if it names no zone). */
const toDate = (value: unknown): Date | undefined => {
  if (value === "now" || value === "today") return new Date(Date.now());
  if (typeof value === "number") return new Date(value * 1_000);
  if (typeof value !== "string" || value.length > 100) return undefined;
  if (/^-?\d+$/.test(value)) return new Date(Number(value) * 1_000);
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return new Date(Date.parse(value));
  if (/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/.test(value)) {
    return new Date(Date.parse(`${value.replace(" ", "T")}Z`));
  }
  return new Date(Date.parse(ZONED.test(value) ? value : `${value} UTC`));
};

const weekOfYear = (date: Date, firstDay: number): number =>
  Math.floor((dayOfYear(date) - ((date.getUTCDay() - firstDay + 7) % 7) + 7) / 7);

const isoWeek = (date: Date): { readonly year: number; readonly week: number } => {
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * 86_400_000);
  return { year: thursday.getUTCFullYear(), week: Math.ceil((dayOfYear(thursday) + 1) / 7) };
};

const ordinal = (day: number): string => {
  if (day > 10 && day < 14) return "th";
  return ["th", "st", "nd", "rd"][day % 10] ?? "th";
};

/** A time zone at one moment, with the minutes that it is ahead of UTC. */
interface Zone {
  readonly name: string;
  readonly minutes: number;
}

/** A strftime directive: its width, its padding, and how to read the field from a Date whose UTC fields show the zone's clock. */
type Field = readonly [width: number, fill: string, read: (date: Date, zone: Zone) => string | number];

const FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>([
  ["a", [0, " ", (date) => (DAYS[date.getUTCDay()] as string).slice(0, 3)]],
  ["A", [0, " ", (date) => DAYS[date.getUTCDay()] as string]],
  ["b", [0, " ", (date) => (MONTHS[date.getUTCMonth()] as string).slice(0, 3)]],
  ["B", [0, " ", (date) => MONTHS[date.getUTCMonth()] as string]],
  ["C", [2, "0", (date) => Math.floor(date.getUTCFullYear() / 100)]],
  ["d", [2, "0", (date) => date.getUTCDate()]],
  ["e", [2, " ", (date) => date.getUTCDate()]],
  ["G", [4, "0", (date) => isoWeek(date).year]],
  ["H", [2, "0", (date) => date.getUTCHours()]],
  ["I", [2, "0", (date) => date.getUTCHours() % 12 || 12]],
  ["j", [3, "0", (date) => dayOfYear(date) + 1]],
  ["k", [2, " ", (date) => date.getUTCHours()]],
  ["l", [2, " ", (date) => date.getUTCHours() % 12 || 12]],
  ["L", [3, "0", (date) => date.getUTCMilliseconds()]],
  ["m", [2, "0", (date) => date.getUTCMonth() + 1]],
  ["M", [2, "0", (date) => date.getUTCMinutes()]],
  ["N", [9, "0", (date) => `${String(date.getUTCMilliseconds()).padStart(3, "0")}000000`]],
  ["p", [0, " ", (date) => (date.getUTCHours() < 12 ? "AM" : "PM")]],
  ["P", [0, " ", (date) => (date.getUTCHours() < 12 ? "am" : "pm")]],
  ["q", [0, " ", (date) => ordinal(date.getUTCDate())]],
  ["s", [0, "0", (date, { minutes }) => Math.floor(date.getTime() / 1_000) - minutes * 60]],
  ["S", [2, "0", (date) => date.getUTCSeconds()]],
  ["u", [0, "0", (date) => date.getUTCDay() || 7]],
  ["U", [2, "0", (date) => weekOfYear(date, 0)]],
  ["V", [2, "0", (date) => isoWeek(date).week]],
  ["w", [0, "0", (date) => date.getUTCDay()]],
  ["W", [2, "0", (date) => weekOfYear(date, 1)]],
  ["y", [2, "0", (date) => ((date.getUTCFullYear() % 100) + 100) % 100]],
  ["Y", [4, "0", (date) => date.getUTCFullYear()]],
  ["Z", [0, " ", (_date, { name }) => name]],
  ["n", [0, " ", () => "\n"]],
  ["t", [0, " ", () => "\t"]],
  ["%", [0, " ", () => "%"]],
]);

/** Directives that stand for several others. */
const SHORTHANDS: ReadonlyMap<string, string> = new Map([
  ["c", "%a %b %e %H:%M:%S %Y"],
  ["D", "%m/%d/%y"],
  ["F", "%Y-%m-%d"],
  ["h", "%b"],
  ["r", "%I:%M:%S %p"],
  ["R", "%H:%M"],
  ["T", "%H:%M:%S"],
  ["v", "%e-%b-%Y"],
  ["x", "%m/%d/%y"],
  ["X", "%H:%M:%S"],
]);

const offsetText = ({ minutes }: Zone, separator: string): string => {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${String(hours).padStart(2, "0")}${separator}${String(rest).padStart(2, "0")}`;
};

const strftime = (date: Date, format: string, zone: Zone): string =>
  format.replace(DIRECTIVE, (written: string, flags: string, width: string, directive: string) => {
    const shorthand = SHORTHANDS.get(directive);
    if (shorthand !== undefined) return strftime(date, shorthand, zone);
    if (directive === "z") return offsetText(zone, flags.includes(":") ? ":" : "");
    const field = FIELDS.get(directive);
    if (field === undefined) return written;
    const [normalWidth, normalFill, read] = field;
    let text = String(read(date, zone));
    if (flags.includes("^")) text = text.toUpperCase();
    if (flags.includes("#")) text = /[a-z]/.test(text) ? text.toUpperCase() : text.toLowerCase();
    const fill = flags.includes("_") ? " " : flags.includes("0") ? "0" : normalFill;
    return flags.includes("-") ? text : text.padStart(Math.min(Number(width) || normalWidth, MAX_FIELD_WIDTH), fill);
  });

/** The zone that a template names, such as "Asia/Shanghai" or "+08:00". A number is the minutes that the zone is behind UTC. */
const zoneAt = (date: Date, zone: unknown): Zone => {
  if (zone === undefined || zone === null || zone === "") return { name: "UTC", minutes: 0 };
  try {
    if (typeof zone === "string") return { name: zone, minutes: offsetMinutes(zone, date.getTime()) };
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    throw new NodeFailure("template_failed", error.message, { cause: error });
  }
  if (typeof zone !== "number" || !(Math.abs(zone) < 24 * 60))
    throw new NodeFailure(
      "template_failed",
      'The time zone of a date must be text such as "Europe/Berlin" or "+02:00"',
    );
  const own = { name: "", minutes: -Math.trunc(zone) };
  return { ...own, name: offsetText(own, ":") };
};

/**
 * The `date` filter: strftime in UTC or in the named zone. A value that is not a date is returned unchanged. Throws NodeFailure for an
 * unknown zone.
 */
export const formatDate = (value: unknown, format: unknown, named?: unknown): unknown => {
  const date = toDate(value);
  if (date === undefined || Number.isNaN(date.getTime())) return value;
  const text = typeof format === "string" ? format : DEFAULT_FORMAT;
  if (text.length > MAX_FORMAT_CHARS) throw new NodeFailure("template_failed", "The format of a date is too long");
  const zone = zoneAt(date, named);
  return strftime(new Date(date.getTime() + zone.minutes * 60_000), text, zone);
};
