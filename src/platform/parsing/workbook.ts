import { readRelations, readXml } from "./archive.ts";
import type { Archive } from "./archive.ts";
import { DocumentError } from "./errors.ts";
import type { DocumentHeading } from "./protocol.ts";
import { createTextParts } from "./text-parts.ts";
import type { TextParts } from "./text-parts.ts";

/** Empty cells in a row before it is written as if there were fewer. */
const MAX_GAP = 64;
const MAX_FORMULA_TEXT = 32_767;
const DAY_MS = 86_400_000;
/** Day 0 of the usual calendar of workbooks (which takes 1900 for a leap year), and of the one of old Macintosh files. */
const EPOCHS = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) };
const MAX_SERIAL_DAY = 2_958_466;
/** Number formats that are dates in every workbook. */
const isBuiltinDate = (id: number): boolean => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);

interface Formats {
  readonly epoch: number;
  readonly shared: readonly string[];
  /** By the index of a cell's style. */
  readonly isDate: readonly boolean[];
}

/** The sheets of a workbook as text: each under its name, rows as lines, cells between tabs; dates as in `2026-01-31`. */
export async function readWorkbook(archive: Archive): Promise<{ text: string; headings: DocumentHeading[] }> {
  const workbook = await archive.read("xl/workbook.xml");
  if (workbook === null) {
    throw new DocumentError("document_broken", "The file is not a workbook, although its name says so.");
  }
  const relations = await readRelations(archive, "xl/workbook.xml");
  const sheets: { name: string; path: string }[] = [];
  let epoch = EPOCHS[1900];
  readXml(workbook, {
    open(name, attributes) {
      const path = relations.get(attributes["r:id"] ?? "")?.path;
      if (name === "sheet" && path !== undefined) sheets.push({ name: attributes["name"] ?? "", path });
      if (name === "workbookPr" && /^(1|true)$/.test(attributes["date1904"] ?? "")) epoch = EPOCHS[1904];
    },
  });
  const formats: Formats = { epoch, shared: await sharedStrings(archive), isDate: await dateStyles(archive) };
  const parts = createTextParts();
  const headings: DocumentHeading[] = [];
  for (const { name, path } of sheets) {
    const xml = await archive.read(path);
    if (xml === null) continue;
    if (parts.length > 0) parts.add("\n");
    const char_start = parts.length;
    parts.add(name.replace(/\s+/g, " "));
    headings.push({ level: 1, char_start, char_end: parts.length });
    parts.add("\n");
    writeRows(xml, formats, parts);
  }
  return { text: parts.toString(), headings };
}

function writeRows(xml: string, formats: Formats, parts: TextParts): void {
  // Written cell by cell: one shared text may be shown by a million cells, and a row has no end.
  let columns = 0;
  let cell: { type: string; style: number; column: number } | null = null;
  let value = "";
  let isValue = false;
  readXml(xml, {
    open(name, { r, s, t }) {
      if (name === "row") columns = 0;
      if (name === "c") {
        cell = { type: t ?? "n", style: Number(s ?? 0), column: r === undefined ? columns : columnOf(r) };
        value = "";
      }
      isValue = cell !== null && (name === "v" || name === "t");
    },
    text(part) {
      if (isValue && value.length < MAX_FORMULA_TEXT) value += part;
    },
    close(name) {
      isValue = false;
      if (name === "c" && cell !== null) {
        const text = shownAs(cell, value, formats);
        if (text !== "") {
          const gap = Math.min(Math.max(0, cell.column - columns), MAX_GAP);
          parts.add("\t".repeat(columns === 0 ? gap : gap + 1));
          parts.add(text);
          columns += gap + 1;
        }
        cell = null;
      }
      if (name === "row" && columns > 0) parts.add("\n");
    },
  });
}

function shownAs({ type, style }: { type: string; style: number }, value: string, formats: Formats): string {
  if (type === "s") return formats.shared[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  const number = Number(value);
  const isDate = type === "n" && value !== "" && formats.isDate[style] === true;
  if (!isDate || !(number >= 0 && number < MAX_SERIAL_DAY)) return onOneLine(value);
  const iso = new Date(formats.epoch + Math.round(number * DAY_MS)).toISOString();
  if (number < 1) return iso.slice(11, 19);
  return Number.isInteger(number) ? iso.slice(0, 10) : iso.slice(0, 19).replace("T", " ");
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** 0 for "A7". */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,3}/.exec(reference)?.[0] ?? "A") column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

async function sharedStrings(archive: Archive): Promise<string[]> {
  const strings: string[] = [];
  let text = "";
  let isText = false;
  let isPhonetic = false;
  readXml((await archive.read("xl/sharedStrings.xml")) ?? "<none/>", {
    open(name) {
      if (name === "si") text = "";
      if (name === "rPh") isPhonetic = true;
      isText = name === "t" && !isPhonetic;
    },
    text(part) {
      if (isText) text += part;
    },
    close(name) {
      isText = false;
      if (name === "rPh") isPhonetic = false;
      if (name === "si") strings.push(onOneLine(text));
    },
  });
  return strings;
}

async function dateStyles(archive: Archive): Promise<boolean[]> {
  const custom = new Set<number>();
  const styles: boolean[] = [];
  let isCell = false;
  readXml((await archive.read("xl/styles.xml")) ?? "<none/>", {
    open(name, { numFmtId, formatCode }) {
      const id = Number(numFmtId ?? 0);
      // Days, years and hours; not the letters of a quoted text or of a colour.
      if (name === "numFmt" && /[dyh]/i.test((formatCode ?? "").replace(/"[^"]*"|\[[^[\]]*\]|\\./g, "")))
        custom.add(id);
      if (name === "cellXfs") isCell = true;
      if (name === "xf" && isCell) styles.push(isBuiltinDate(id) || custom.has(id));
    },
    close(name) {
      if (name === "cellXfs") isCell = false;
    },
  });
  return styles;
}
