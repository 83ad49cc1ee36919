import { NodeFailure } from "../../../runs/failure.ts";

/*
 * Our own instead of the engine's, which reads the machine's time zone and locale: the same template would give another
 * text on another machine, and a workflow would not replay.
 */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = "January February March April May June July August September October November December".split(" ");

const DEFAULT_FORMAT = "%A, %B %-e, %Y at %-l:%M %P %z";
const MAX_FORMAT_CHARS = 1_000;
const MAX_FIELD_WIDTH = 100;
const DIRECTIVE = /%([-_0^#:]*)((?:[1-9]\d*)?)([A-Za-z%])/g;
const ZONED = /(?:Z|GMT|UTC?|[A-Z][SD]T|[+-]\d{2}:?\d{2})\)?\s*$/i;

/** The instant a value stands for: "now", seconds since 1970, or text that names a date (UTC where it has no zone). */
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

const dayOfYear = (date: Date): number => {
  const start = new Date(0).setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - start) / 86_400_000) + 1;
};

const weekOfYear = (date: Date, firstDay: number): number =>
  Math.floor((dayOfYear(date) - 1 - ((date.getUTCDay() - firstDay + 7) % 7) + 7) / 7);

const isoWeek = (date: Date): { readonly year: number; readonly week: number } => {
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * 86_400_000);
  return { year: thursday.getUTCFullYear(), week: Math.ceil(dayOfYear(thursday) / 7) };
};

const ordinal = (day: number): string => {
  if (day > 10 && day < 14) return "th";
  return ["th", "st", "nd", "rd"][day % 10] ?? "th";
};

/** A directive of strftime: its width, its padding, and the field it reads. */
type Field = readonly [width: number, fill: string, read: (date: Date) => string | number];

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
  ["j", [3, "0", dayOfYear]],
  ["k", [2, " ", (date) => date.getUTCHours()]],
  ["l", [2, " ", (date) => date.getUTCHours() % 12 || 12]],
  ["L", [3, "0", (date) => date.getUTCMilliseconds()]],
  ["m", [2, "0", (date) => date.getUTCMonth() + 1]],
  ["M", [2, "0", (date) => date.getUTCMinutes()]],
  ["N", [9, "0", (date) => `${String(date.getUTCMilliseconds()).padStart(3, "0")}000000`]],
  ["p", [0, " ", (date) => (date.getUTCHours() < 12 ? "AM" : "PM")]],
  ["P", [0, " ", (date) => (date.getUTCHours() < 12 ? "am" : "pm")]],
  ["q", [0, " ", (date) => ordinal(date.getUTCDate())]],
  ["s", [0, "0", (date) => Math.floor(date.getTime() / 1_000)]],
  ["S", [2, "0", (date) => date.getUTCSeconds()]],
  ["u", [0, "0", (date) => date.getUTCDay() || 7]],
  ["U", [2, "0", (date) => weekOfYear(date, 0)]],
  ["V", [2, "0", (date) => isoWeek(date).week]],
  ["w", [0, "0", (date) => date.getUTCDay()]],
  ["W", [2, "0", (date) => weekOfYear(date, 1)]],
  ["y", [2, "0", (date) => ((date.getUTCFullYear() % 100) + 100) % 100]],
  ["Y", [4, "0", (date) => date.getUTCFullYear()]],
  ["Z", [0, " ", () => "UTC"]],
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

const strftime = (date: Date, format: string): string =>
  format.replace(DIRECTIVE, (written: string, flags: string, width: string, directive: string) => {
    const shorthand = SHORTHANDS.get(directive);
    if (shorthand !== undefined) return strftime(date, shorthand);
    if (directive === "z") return flags.includes(":") ? "+00:00" : "+0000";
    const field = FIELDS.get(directive);
    if (field === undefined) return written;
    const [normalWidth, normalFill, read] = field;
    let text = String(read(date));
    if (flags.includes("^")) text = text.toUpperCase();
    if (flags.includes("#")) text = /[a-z]/.test(text) ? text.toUpperCase() : text.toLowerCase();
    const fill = flags.includes("_") ? " " : flags.includes("0") ? "0" : normalFill;
    return flags.includes("-") ? text : text.padStart(Math.min(Number(width) || normalWidth, MAX_FIELD_WIDTH), fill);
  });

/** The `date` filter: strftime in UTC. A value that is not a date is passed on unchanged. */
export const formatDate = (value: unknown, format: unknown): unknown => {
  const date = toDate(value);
  if (date === undefined || Number.isNaN(date.getTime())) return value;
  const text = typeof format === "string" ? format : DEFAULT_FORMAT;
  if (text.length > MAX_FORMAT_CHARS) throw new NodeFailure("template_failed", "The format of a date is too long");
  return strftime(date, text);
};
