/** A block of a text in Markdown. Lines inside still have their inline marks. */
export type Block =
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "rule" }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | { readonly kind: "list"; readonly start: number | null; readonly items: ReadonlyArray<readonly Block[]> }
  | { readonly kind: "table"; readonly head: readonly string[]; readonly rows: ReadonlyArray<readonly string[]> };

/** Quotes and lists inside each other; deeper ones are shown as text. */
const MAX_DEPTH = 6;
/** A table with more columns is shown as text. */
const MAX_COLUMNS = 30;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^ {0,3}(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+|$)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const DELIMITER = /^ {0,3}\|?[ \t:|-]*-[ \t:|-]*$/;
/** Longer lines are neither rules nor delimiters. */
const MAX_MARK = 400;

/** The blocks of a text. Each line is read once for each quote or list around it, so long texts take time in proportion. */
export function blocksOf(text: string): readonly Block[] {
  return read(text.replaceAll(/\r\n?/g, "\n").split("\n"), 0);
}

function read(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] as string;
    if (line.trim() === "") at += 1;
    else {
      const [block, end] =
        codeAt(lines, at) ??
        headingAt(lines, at) ??
        ruleAt(lines, at) ??
        (depth < MAX_DEPTH ? (quoteAt(lines, at, depth) ?? listAt(lines, at, depth)) : null) ??
        tableAt(lines, at) ??
        paragraphAt(lines, at, depth);
      blocks.push(block);
      at = end;
    }
  }
  return blocks;
}

/** A block and the line after it. */
type Found = readonly [block: Block, end: number];

/** The opening fence of a line: its characters. */
export function fenceOf(line: string): string | null {
  return line.length > MAX_MARK ? null : (FENCE.exec(line)?.[1] ?? null);
}

/** Whether a line ends the code that this fence opened. */
export function closesFence(fence: string, line: string): boolean {
  if (line.length > MAX_MARK) return false;
  const text = line.trim();
  return text.length >= fence.length && text === (fence[0] as string).repeat(text.length);
}

function codeAt(lines: readonly string[], at: number): Found | null {
  const fence = fenceOf(lines[at] as string);
  if (fence === null) return null;
  let end = at + 1;
  while (end < lines.length && !closesFence(fence, lines[end] as string)) end += 1;
  return [{ kind: "code", text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function headingAt(lines: readonly string[], at: number): Found | null {
  const line = lines[at] as string;
  const marks = HEADING.exec(line);
  if (!marks) return null;
  return [{ kind: "heading", level: marks[1]?.length ?? 1, text: line.slice(marks[0].length).trim() }, at + 1];
}

function ruleAt(lines: readonly string[], at: number): Found | null {
  return isRule(lines[at] as string) ? [{ kind: "rule" }, at + 1] : null;
}
const isRule = (line: string): boolean => line.length <= MAX_MARK && RULE.test(line);

function quoteAt(lines: readonly string[], at: number, depth: number): Found | null {
  const inside: string[] = [];
  let end = at;
  for (; end < lines.length && QUOTE.test(lines[end] as string); end += 1)
    inside.push((lines[end] as string).replace(QUOTE, ""));
  return end === at ? null : [{ kind: "quote", blocks: read(inside, depth + 1) }, end];
}

function listAt(lines: readonly string[], at: number, depth: number): Found | null {
  const first = ITEM.exec(lines[at] as string);
  if (!first) return null;
  const isNumbered = first[1] !== undefined;
  const items: Block[][] = [];
  let end = at;
  while (end < lines.length) {
    const line = lines[end] as string;
    const mark = ITEM.exec(line);
    if (!mark || (mark[1] !== undefined) !== isNumbered || isRule(line)) break;
    const inside = [line.slice(mark[0].length)];
    end += 1;
    for (; end < lines.length; end += 1) {
      const following = lines[end] as string;
      if (following.trim() === "") {
        if (!isInside(lines[end + 1])) break;
        inside.push("");
      } else if (isInside(following)) inside.push(withoutIndent(following, mark[0].length));
      else if (inside.at(-1)?.trim() === "" || ITEM.test(following) || startsBlock(following)) break;
      else inside.push(following);
    }
    items.push(read(inside, depth + 1));
    // An empty line between two items of one list.
    if (lines[end]?.trim() === "" && ITEM.test(lines[end + 1] ?? "")) end += 1;
  }
  return [{ kind: "list", start: isNumbered ? Number(first[1]) : null, items }, end];
}

/** Models indent what belongs to an item by 2 to 4 spaces, whatever the width of its mark. */
const isInside = (line: string | undefined): boolean => line !== undefined && /^(?: {2}|\t)[ \t]*\S/.test(line);

function withoutIndent(line: string, most: number): string {
  if (line.startsWith("\t")) return line.slice(1);
  let at = 0;
  while (at < most && line[at] === " ") at += 1;
  return line.slice(at);
}

function tableAt(lines: readonly string[], at: number): Found | null {
  const [line, under] = [lines[at] as string, lines[at + 1]];
  if (under === undefined || !line.includes("|") || under.length > MAX_MARK || !DELIMITER.test(under)) return null;
  const head = cellsOf(line);
  if (head.length > MAX_COLUMNS || head.length !== cellsOf(under).length) return null;
  const rows: string[][] = [];
  let end = at + 2;
  for (; end < lines.length && (lines[end] as string).includes("|"); end += 1)
    rows.push(cellsOf(lines[end] as string).slice(0, head.length));
  return [{ kind: "table", head, rows }, end];
}

function cellsOf(line: string): string[] {
  const cells = line.trim().split(/(?<!\\)\|/);
  if (cells[0]?.trim() === "") cells.shift();
  if (cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function paragraphAt(lines: readonly string[], at: number, depth: number): Found {
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end] as string;
    if (line.trim() === "" || (depth < MAX_DEPTH && startsBlock(line)) || fenceOf(line) !== null) break;
    end += 1;
  }
  const text = lines.slice(at, end).map((line) => line.trim());
  return [{ kind: "paragraph", text: text.join("\n") }, end];
}

/** Whether a line ends the paragraph before it. Numbers other than 1 do not, because a line of a text may begin with one. */
function startsBlock(line: string): boolean {
  const item = ITEM.exec(line);
  if (item && (item[1] === undefined || Number(item[1]) === 1)) return true;
  return HEADING.test(line) || QUOTE.test(line) || isRule(line) || fenceOf(line) !== null;
}
