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

/** A record of a file and the line that it begins in (from 1; of JSON the number of the item), or why it cannot be read. */
export type FileRecord =
  | { readonly line: number; readonly value: unknown }
  | { readonly line: number; readonly problem: string };

/** Reads the records of a file one after the other. Throws RecordsUnreadable if it cannot read on. */
export async function* readRecords(type: "csv" | "jsonl" | "json", content: Readable): AsyncGenerator<FileRecord> {
  const text = asUtf8(content as AsyncIterable<Buffer>);
  try {
    if (type === "csv") yield* readCsv(Readable.from(text));
    else yield* type === "jsonl" ? readJsonLines(text) : readJson(text);
  } catch (error) {
    throw error instanceof NotUtf8 ? new RecordsUnreadable(error.message, { cause: error }) : error;
  } finally {
    content.destroy();
  }
}

async function* readCsv(text: Readable): AsyncGenerator<FileRecord> {
  const { delimiter, content } = await delimited(text);
  const rows = parse({
    bom: true,
    delimiter,
    info: true,
    // Files that were put together have more than one kind: a delimiter found in the first line alone would make one record of others.
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
  });
  const done = pipeline(content, rows).catch(() => undefined);
  let columns: readonly string[] | undefined;
  let width = 0;
  const lineOf = createLineCount();
  try {
    for await (const { record, info } of rows as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      const line = lineOf(record, info.lines);
      if (columns === undefined) {
        columns = requireColumns(record);
        width = record.length;
        continue;
      }
      const unnamed = record.slice(columns.length).findIndex((cell) => cell !== "");
      if (record.length !== width && record.length !== columns.length)
        yield { line, problem: `The record has ${record.length} fields where the header has ${width}` };
      else if (unnamed !== -1)
        yield {
          line,
          problem: `The record has a value in column ${columns.length + unnamed + 1}, which has no name`,
        };
      else yield { line, value: Object.fromEntries(columns.map((name, i) => [name, record[i] ?? ""])) };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // The message quotes the field, which may be as long as a record.
    throw new RecordsUnreadable(`The file is not valid CSV: ${error.message.slice(0, 300)}`, { cause: error });
  } finally {
    content.destroy();
    await done;
  }
  if (columns === undefined)
    throw new RecordsUnreadable("The file is empty: a header with the names of its columns is expected.");
}

/** Longest header that is looked at (bytes). */
const MAX_HEADER_BYTES = 64 * 1024;

/** The separator of a table's fields: comma, semicolon or tab, whichever occurs most often in its header. */
async function delimited(text: Readable): Promise<{ readonly delimiter: string; readonly content: Readable }> {
  const pieces = text[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head = Buffer.alloc(0);
  while (head.length < MAX_HEADER_BYTES && !head.includes(10)) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* whole(): AsyncGenerator<Buffer> {
    yield head;
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
  }
  return { delimiter: delimiterIn(head.toString("utf8", 0, MAX_HEADER_BYTES)), content: Readable.from(whole()) };
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

/** Without the empty ones at the end, which spreadsheets write. */
function requireColumns(header: string[]): string[] {
  const names = header.slice(0, header.findLastIndex((name) => name !== "") + 1);
  if (names.length === 0) throw new RecordsUnreadable("The header names no column.");
  if (names.length > MAX_COLUMNS) throw new RecordsUnreadable(`The file has more than ${MAX_COLUMNS} columns.`);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new RecordsUnreadable(`The header names the column ${JSON.stringify(twice.slice(0, 100))} twice.`);
  if (names.includes("__proto__")) throw new RecordsUnreadable("A column cannot be called __proto__.");
  return names;
}

/** Tells the line that a record begins in, of the one that the parser has reached with it: there, a line end of Windows within quotes is two. */
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

/** Lines as bytes; null for one that is too long. Its bytes are dropped. */
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
      throw new RecordsUnreadable(`A JSON file is at most ${MAX_JSON_BYTES} bytes: send longer ones as JSONL.`);
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
  if (!Array.isArray(items)) throw new RecordsUnreadable("A list of objects is expected, or an object with `rows`.");
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
      problem: error instanceof Error ? error.message.slice(0, 300).toWellFormed() : "It is not valid JSON",
    };
  }
}

/** Why a value is refused: it nests too deep, or has a member that would replace a prototype. */
function faultOf(value: unknown, depth: number, names: boolean): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === 0) return `It nests deeper than ${MAX_DEPTH} levels`;
  if (names && Object.hasOwn(value, "__proto__")) return "A member cannot be called __proto__";
  for (const item of Object.values(value)) {
    const fault = faultOf(item, depth - 1, names);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A row of a CSV file. Cells that a spreadsheet would take for a formula begin with an apostrophe: see readCell. */
export function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((cell) => {
    const inert = /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
    return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
  });
  return `${quoted.join(",")}\r\n`;
}

/** The text that csvLine has written as this cell. In files of others an apostrophe may be the text's own. */
export function readCell(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Characters of an export's chunk. */
const CHUNK_CHARS = 64 * 1024;

/** A text made piece by piece as a stream, a page of rows at a time. */
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
