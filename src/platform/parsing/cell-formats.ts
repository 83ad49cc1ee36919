import { format, getFormatFromId, isDateFormat } from "numfmt";
import { readXml } from "./archive.ts";
import { onOneLine } from "./office-xml.ts";

/** No program writes a longer format (characters). */
const MAX_PATTERN = 255;
/** Days between the first day of the 1904 date system (old Macintosh) and that of the usual one. */
const DAYS_BEFORE_1904 = 1462;
const MAX_SERIAL_DAY = 2_958_466;
/** Formats of dates that each country writes in its own order; they are shown as `2026-01-31`. */
const LOCAL_DATES = new Set([14, 27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58]);
const LOCAL_TIME = 22;
/** The same for formats that follow the system's settings (`[$-F800]`). */
const SYSTEM_DATE = /\[\$-x?-?F[48]00\]/i;

/** A duration, which is not a calendar date. */
const ELAPSED = /\[[hms]{1,9}\]/i;

/** Formats a cell's number or text as the workbook shows it. */
export interface CellFormats {
  number(raw: string, style: number): string;
  text(raw: string, style: number): string;
}

/** The formats of a workbook, from its `styles.xml`. */
export function readFormats(xml: string | null, { is1904 }: { readonly is1904: boolean }): CellFormats {
  const patterns = patternsOf(xml);
  return {
    number(raw, style) {
      const value = Number(raw);
      const pattern = patterns[style] ?? "General";
      if (raw === "" || !Number.isFinite(value)) return onOneLine(raw);
      if (pattern === "General" || pattern === "@") return general(raw, value);
      const isDate = isDateFormat(pattern);
      if (isDate && !(value >= 0 && value < MAX_SERIAL_DAY)) return general(raw, value);
      const isDay = isDate && !ELAPSED.test(pattern);
      const shown = shownAs(pattern, isDay && is1904 ? value + DAYS_BEFORE_1904 : value);
      return shown ?? general(raw, value);
    },
    text(raw, style) {
      const pattern = patterns[style] ?? "General";
      // Most formats are for numbers and leave a text unchanged.
      return pattern.length > 1 && pattern.includes("@") ? (shownAs(pattern, raw) ?? onOneLine(raw)) : onOneLine(raw);
    },
  };
}

/** `null` if the format is invalid. */
function shownAs(pattern: string, value: number | string): string | null {
  try {
    return onOneLine(format(pattern, value, { nbsp: false }));
  } catch {
    return null;
  }
}

/** A number without a format: integers with all their digits, others without the noise of binary fractions. */
function general(raw: string, value: number): string {
  return /^[+-]?\d+$/.test(raw) ? raw : String(Number(value.toPrecision(15)));
}

/** The format of each cell style. */
function patternsOf(xml: string | null): string[] {
  const custom = new Map<number, string>();
  const patterns: string[] = [];
  let isCell = false;
  readXml(xml, {
    open(name, { numFmtId, formatCode = "" }) {
      const id = Number(numFmtId ?? 0);
      if (name === "numFmt" && formatCode.length <= MAX_PATTERN)
        custom.set(id, SYSTEM_DATE.test(formatCode) && isDateFormat(formatCode) ? "yyyy-mm-dd" : formatCode);
      if (name === "cellXfs") isCell = true;
      if (name === "xf" && isCell) patterns.push(custom.get(id) ?? builtin(id));
    },
    close(name) {
      if (name === "cellXfs") isCell = false;
    },
  });
  return patterns;
}

function builtin(id: number): string {
  if (id === LOCAL_TIME) return "yyyy-mm-dd hh:mm";
  if (LOCAL_DATES.has(id)) return "yyyy-mm-dd";
  // The function returns a format for every number, also for those it does not know.
  return id <= 49 ? getFormatFromId(id) : "General";
}
