import { readRelations, readXml, type Archive } from "./archive.ts";
import { readFormats, type CellFormats } from "./cell-formats.ts";
import { DocumentError } from "./errors.ts";
import { readDrawing } from "./office-drawings.ts";
import { onOneLine, readTexts } from "./office-xml.ts";
import type { DocumentHeading } from "./protocol.ts";
import { createTextParts, type TextParts } from "./text-parts.ts";

/** Most consecutive empty cells in a row that are written; longer gaps are shortened. */
const MAX_GAP = 64;
const MAX_FORMULA_TEXT = 32_767;
const MAX_COLUMNS = 16_384;

interface Book {
  readonly formats: CellFormats;
  readonly shared: readonly string[];
}

/**
 * The sheets of a workbook as text: each under its name, rows as lines, cells separated by tabs, numbers as they are shown, a merged value
 * in each of its rows; then its comments and drawings. Hidden sheets, rows and columns are omitted.
 */
export async function readWorkbook(archive: Archive): Promise<{ text: string; headings: DocumentHeading[] }> {
  const workbook = await archive.read("xl/workbook.xml");
  if (workbook === null) {
    throw new DocumentError("document_broken", "The file is not a workbook, although its name says so.");
  }
  const relations = await readRelations(archive, "xl/workbook.xml");
  const sheets: { name: string; path: string }[] = [];
  let is1904 = false;
  readXml(workbook, {
    open(name, attributes) {
      const path = relations.get(attributes["r:id"] ?? "")?.path;
      const isShown = !/hidden/i.test(attributes["state"] ?? "");
      if (name === "sheet" && path !== undefined && isShown) sheets.push({ name: attributes["name"] ?? "", path });
      if (name === "workbookPr" && /^(1|true)$/.test(attributes["date1904"] ?? "")) is1904 = true;
    },
  });
  const formats = readFormats(await archive.read("xl/styles.xml"), { is1904 });
  const shared: string[] = [];
  readTexts(await archive.read("xl/sharedStrings.xml"), "si", /^t$/, (text) => shared.push(text));
  const book: Book = { formats, shared };
  const parts = createTextParts();
  for (const { name, path } of sheets) {
    const xml = await archive.read(path);
    if (xml === null) continue;
    let isNamed = false;
    // Starts a sheet's text with its name when it has content, because the name of an empty sheet is not text.
    const begin = (): void => {
      if (isNamed) return;
      isNamed = true;
      if (parts.length > 0) parts.add("\n");
      parts.add(onOneLine(name), 1);
      parts.add("\n");
    };
    writeRows(xml, book, parts, begin);
    for (const line of await linesBeside(archive, path)) {
      begin();
      parts.add(`${line}\n`);
    }
  }
  return { text: parts.toString(), headings: parts.headings };
}

interface Cell {
  readonly type: string;
  readonly style: number;
  readonly column: number;
}

function writeRows(xml: string, book: Book, parts: TextParts, begin: () => void): void {
  const merges = mergesOf(xml);
  /** Merged values that continue in the rows below, by column, and the columns that this row still has to show. */
  const merged = new Map<number, { readonly from: number; readonly until: number; readonly text: string }>();
  let below: number[] | null = null;
  const hidden = new Set<number>();
  // Written cell by cell, because a million cells may show one shared text, and a row may be endless.
  let row = 0;
  let column = 0;
  let written = 0;
  let isRowHidden = false;
  let cell: Cell | null = null;
  let value = "";
  let isValue = false;
  let isPhonetic = false;

  function write(at: number, text: string): void {
    if (text === "" || hidden.has(at)) return;
    begin();
    const gap = Math.min(Math.max(0, at - written), MAX_GAP);
    parts.add("\t".repeat(written === 0 ? gap : gap + 1));
    parts.add(text);
    written += gap + 1;
  }

  /** Writes merged values from above, up to a column. */
  function writeMerged(before: number): void {
    below ??= columnsBelow();
    for (let at = below[0]; at !== undefined && at < before; at = below[0]) {
      below.shift();
      write(at, merged.get(at)?.text ?? "");
    }
    // This cell's own value replaces a merged one from above.
    if (below[0] === before) below.shift();
  }

  function columnsBelow(): number[] {
    for (const [at, { until }] of merged) if (until < row) merged.delete(at);
    return [...merged].flatMap(([at, { from }]) => (from < row ? [at] : [])).toSorted((a, b) => a - b);
  }

  function endCell({ column: at, ...given }: Cell): void {
    const text = shownAs(given, value, book);
    const until = merges.get(`${at} ${row}`);
    if (text !== "" && !isRowHidden) {
      if (merged.size > 0) writeMerged(at);
      write(at, text);
    }
    column = Math.max(column, at + 1);
    if (until !== undefined) merged.set(at, { from: row, until, text });
  }

  readXml(xml, {
    open(name, { r, s, t, hidden: isHidden = "", min, max }) {
      if (name === "col" && isOn(isHidden)) {
        for (let at = Number(min); at <= Math.min(Number(max), MAX_COLUMNS); at += 1) hidden.add(at - 1);
      }
      if (name === "row") {
        row = r === undefined ? row + 1 : Number(r);
        column = 0;
        written = 0;
        below = null;
        isRowHidden = isOn(isHidden);
      }
      if (name === "c") {
        cell = { type: t ?? "n", style: Number(s ?? 0), column: r === undefined ? column : columnOf(r) };
        value = "";
      }
      if (name === "rPh") isPhonetic = true;
      isValue = cell !== null && !isPhonetic && (name === "v" || name === "t");
    },
    text(part) {
      if (isValue && value.length < MAX_FORMULA_TEXT) value += part;
    },
    close(name) {
      isValue = false;
      if (name === "rPh") isPhonetic = false;
      if (name === "c" && cell !== null) {
        endCell(cell);
        cell = null;
      }
      if (name !== "row" || written === 0) return;
      if (merged.size > 0) writeMerged(MAX_COLUMNS);
      parts.add("\n");
    },
  });
}

const isOn = (value: string): boolean => /^(1|true)$/.test(value);

/** The last row of each vertical merge of cells, by its first column and row. */
function mergesOf(xml: string): Map<string, number> {
  const merges = new Map<string, number>();
  // The merges follow the rows in the file, so they are searched in the whole text.
  for (const [, column = "", row, last] of xml.matchAll(
    /<(?:\w{1,20}:)?mergeCell\s[^<>]{0,200}?ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"/g,
  )) {
    if (Number(last) > Number(row)) merges.set(`${columnOf(column)} ${Number(row)}`, Number(last));
  }
  return merges;
}

function shownAs({ type, style }: Omit<Cell, "column">, value: string, { formats, shared }: Book): string {
  if (type === "n") return formats.number(value, style);
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  return formats.text(type === "s" ? (shared[Number(value)] ?? "") : value, style);
}

/** Comments on the cells of a sheet, and the text of its drawings. */
async function linesBeside(archive: Archive, sheet: string): Promise<string[]> {
  const lines: string[] = [];
  for (const { path, type } of (await readRelations(archive, sheet)).values()) {
    if (type === "comments")
      readTexts(await archive.read(path), "comment", /^t$/, (text, { ref = "" }) => {
        if (text !== "") lines.push(`Comment (${ref}): ${text}`);
      });
    if (type === "drawing") lines.push(...(await readDrawing(archive, path)));
  }
  return lines;
}

/** The column of a cell reference, from 0: 0 for "A7". */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,3}/.exec(reference)?.[0] ?? "A") column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}
