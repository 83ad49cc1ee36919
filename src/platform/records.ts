import { CsvError, parse } from "csv-parse";
import { pipeline } from "node:stream/promises";
import { PassThrough, Readable } from "node:stream";
import { parseExactJson } from "../domain/exact-json.ts";
import { NotUtf8, asUtf8 } from "./utf8.ts";

/** Longest line of a JSONL file, and longest record of a CSV file (bytes). */
const MAX_RECORD_BYTES = 4 * 1024 * 1024;
/** Longest JSON file (bytes): it is read as a whole. */
const MAX_JSON_BYTES = 32 * 1024 * 1024;
/** Most columns of a table. */
export const MAX_COLUMNS = 1000;
const MAX_DEPTH = 100;

/** Thrown if a file is not in its declared format; the message is for its owner. */
export class RecordsUnreadable extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message.toWellFormed(), options);
    this.name = "RecordsUnreadable";
  }
}

/** A record of a file and the line where it starts (from 1; in JSON, the number of the item), or why it cannot be read. */
export type FileRecord =
  /** `exact`: the cells of a table by csvLine, as they were written. */
  | { readonly line: number; readonly value: unknown; readonly exact?: true }
  | { readonly line: number; readonly problem: string };

/**
 * Reads the records of a file one by one. A table whose first columns are `own` was written by csvLine. Throws RecordsUnreadable if it
 * cannot continue.
 */
export async function* readRecords(
  type: "csv" | "jsonl" | "json",
  content: Readable,
  own: readonly string[] = [],
): AsyncGenerator<FileRecord> {
  const text = asUtf8(content as AsyncIterable<Buffer>);
  try {
    if (type === "csv") yield* readCsv(Readable.from(text), own);
    else yield* type === "jsonl" ? readJsonLines(text) : readJson(text);
  } catch (error) {
    throw error instanceof NotUtf8 ? new RecordsUnreadable(error.message, { cause: error }) : error;
  } finally {
    content.destroy();
  }
}

async function* readCsv(text: Readable, own: readonly string[]): AsyncGenerator<FileRecord> {
  const { delimiter, content, skipped } = await delimited(text);
  const rows = parse({
    bom: true,
    // A quoted cell is text, even if it is empty or says null.
    cast: (cell, { quoting }) => (quoting || (cell !== "" && cell !== "null") ? cell : cell === "" ? undefined : null),
    delimiter,
    info: true,
    // Concatenated files can mix line ends: taking only that of the first line would merge records of other parts.
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
  });
  const done = pipeline(content, rows).catch(() => undefined);
  let columns: readonly string[] | undefined;
  let isOwn = false;
  let width = 0;
  const lineOf = createLineCount();
  try {
    for await (const { record: cells, info } of rows as AsyncIterable<{ record: Cell[]; info: { lines: number } }>) {
      const record = cells.map(plain);
      const line = lineOf(record, info.lines) + skipped;
      if (columns === undefined) {
        columns = requireColumns(record);
        isOwn = own.length > 0 && own.every((name, i) => record[i] === name);
        width = record.length;
        continue;
      }
      const unnamed = record.slice(columns.length).findIndex((cell) => cell !== "");
      if (record.length !== width && record.length !== columns.length)
        yield { line, problem: `The record has ${record.length} fields, but the header has ${width}` };
      else if (unnamed !== -1)
        yield {
          line,
          problem: `The record has a value in column ${columns.length + unnamed + 1}, which has no name in the header`,
        };
      else if (isOwn)
        yield { line, value: Object.fromEntries(columns.map((name, i) => [name, readCell(cells[i])])), exact: true };
      else yield { line, value: Object.fromEntries(columns.map((name, i) => [name, record[i] ?? ""])) };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // The parser's message quotes the field, which may be as long as a record.
    throw new RecordsUnreadable(`The file is not valid CSV: ${error.message.slice(0, 300)}`, { cause: error });
  } finally {
    content.destroy();
    await done;
  }
  if (columns === undefined)
    throw new RecordsUnreadable("The file is empty: it must begin with a header of column names.");
}

/** Longest header that is searched (bytes). */
const MAX_HEADER_BYTES = 64 * 1024;

interface Delimited {
  readonly delimiter: string;
  readonly content: Readable;
  /** Number of lines before the header. */
  readonly skipped: number;
}

/** The line that tells spreadsheets the separator. */
const SEPARATOR_LINE = /^\uFEFF?"?sep=([\t !#-/:;|~])"?(?:\r\n|\n|\r)/i;

/**
 * The separator of a table's fields: the one that its first line names, otherwise the most frequent of comma, semicolon and tab in its
 * header.
 */
async function delimited(text: Readable): Promise<Delimited> {
  const pieces = text[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head = Buffer.alloc(0);
  while (head.length < MAX_HEADER_BYTES && !head.includes(10)) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const [line = "", said] = SEPARATOR_LINE.exec(head.toString("utf8", 0, 20)) ?? [];
  async function* whole(): AsyncGenerator<Buffer> {
    yield head.subarray(Buffer.byteLength(line));
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
  }
  return {
    delimiter: said ?? delimiterIn(head.toString("utf8", 0, MAX_HEADER_BYTES)),
    content: Readable.from(whole()),
    skipped: said === undefined ? 0 : 1,
  };
}

function delimiterIn(head: string): string {
  const counts = new Map([",", ";", "\t"].map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const character of head) {
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "\n" || character === "\r") break;
    else if (counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return most?.[0] ?? ",";
}

/** Columns without the empty ones that spreadsheets add at the end. */
function requireColumns(header: string[]): string[] {
  const names = header.slice(0, header.findLastIndex((name) => name !== "") + 1);
  if (names.length === 0) throw new RecordsUnreadable("The header has no column names.");
  if (names.length > MAX_COLUMNS) throw new RecordsUnreadable(`The file has more than ${MAX_COLUMNS} columns.`);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new RecordsUnreadable(`The header has the column ${JSON.stringify(twice.slice(0, 100))} twice.`);
  if (names.includes("__proto__")) throw new RecordsUnreadable("A column cannot be named __proto__.");
  return names;
}

/** The line where a record starts, computed from the parser's current line. The parser counts a quoted CRLF as two lines. */
function createLineCount(): (record: readonly string[], reached: number) => number {
  let surplus = 0;
  return (record, reached) => {
    const within = record.join("").match(/[\r\n]/g)?.length ?? 0;
    const line = reached - within - surplus;
    surplus += record.reduce((sum, cell) => sum + cell.split("\r\n").length - 1, 0);
    return line;
  };
}

async function* readJsonLines(content: AsyncIterable<Buffer>): AsyncGenerator<FileRecord> {
  let line = 0;
  for await (const bytes of linesOf(content)) {
    line += 1;
    if (bytes === null) yield { line, problem: `The line is longer than ${MAX_RECORD_BYTES} bytes` };
    else {
      const text = bytes
        .toString("utf8")
        .replace(/^\uFEFF/, "")
        .trim();
      if (text !== "") yield parsed(line, text);
    }
  }
}

/** Lines as bytes; null for a line that is too long, whose bytes are dropped. */
async function* linesOf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer | null> {
  let parts: Buffer[] = [];
  let length = 0;
  const take = (): Buffer | null => {
    const line = length > MAX_RECORD_BYTES ? null : Buffer.concat(parts);
    parts = [];
    length = 0;
    return line;
  };
  const keep = (part: Buffer): void => {
    length += part.length;
    if (length > MAX_RECORD_BYTES) parts = [];
    else parts.push(part);
  };
  for await (const chunk of content) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    keep(chunk.subarray(from));
  }
  if (length > 0) yield take();
}

async function* readJson(content: AsyncIterable<Buffer>): AsyncGenerator<FileRecord> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of content) {
    length += chunk.length;
    if (length > MAX_JSON_BYTES)
      throw new RecordsUnreadable(`A JSON file can have at most ${MAX_JSON_BYTES} bytes: send larger files as JSONL.`);
    parts.push(chunk);
  }
  const whole = parsed(
    1,
    Buffer.concat(parts)
      .toString("utf8")
      .replace(/^\uFEFF/, ""),
  );
  if ("problem" in whole) throw new RecordsUnreadable(`The file cannot be read: ${whole.problem}`);
  const items = Array.isArray(whole.value) ? whole.value : (whole.value as { rows?: unknown } | null)?.rows;
  if (!Array.isArray(items))
    throw new RecordsUnreadable("The file must be a list of objects, or an object with `rows`.");
  for (const [index, value] of items.entries()) yield { line: index + 1, value };
}

function parsed(line: number, text: string): FileRecord {
  try {
    const value: unknown = parseExactJson(text);
    const problem = faultOf(value, MAX_DEPTH, text.includes("__proto__") || text.includes("\\u"));
    return problem === undefined ? { line, value } : { line, problem };
  } catch (error) {
    return {
      line,
      problem: error instanceof Error ? error.message.slice(0, 300).toWellFormed() : "The text is not valid JSON",
    };
  }
}

/** Why a value is refused: it is nested too deep, or has a field that would replace a prototype. */
function faultOf(value: unknown, depth: number, names: boolean): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === 0) return `The text is nested deeper than ${MAX_DEPTH} levels`;
  if (names && Object.hasOwn(value, "__proto__")) return "A field cannot be named __proto__";
  for (const item of Object.values(value)) {
    const fault = faultOf(item, depth - 1, names);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A cell of a CSV file: a text, null, or nothing. */
export type Cell = string | null | undefined;

/** The first line of a CSV file. Spreadsheets recognise UTF-8 by the mark at its beginning. */
export function csvHeader(names: readonly string[]): string {
  return `\uFEFF${csvLine(names)}`;
}

/** A row of a CSV file. Cells that a spreadsheet would evaluate as a formula get an apostrophe in front: see readCell. */
export function csvLine(cells: readonly Cell[]): string {
  const quoted = cells.map((cell) => {
    if (cell === undefined || cell === null) return cell === null ? "null" : "";
    if (cell === "" || cell === "null") return `"${cell}"`;
    const inert = /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
    return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
  });
  return `${quoted.join(",")}\r\n`;
}

function plain(cell: Cell): string {
  return cell === null ? "null" : (cell ?? "");
}

/** The value that csvLine wrote as this cell. In other files an apostrophe may be part of the text. */
function readCell(cell: Cell): Cell {
  return typeof cell === "string" && /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Characters per chunk of an export. */
const CHUNK_CHARS = 64 * 1024;

/** A text that is generated as a stream, one page of rows at a time. */
export function textStream(pieces: AsyncIterable<string>): Readable {
  const out = new PassThrough();
  const gathered = (async function* () {
    let text = "";
    for await (const piece of pieces) {
      text += piece;
      if (text.length < CHUNK_CHARS) continue;
      yield text;
      text = "";
    }
    yield text;
  })();
  void pipeline(gathered, out).catch((error: Error) => out.destroy(error));
  return out;
}
