import { onOneLine } from "./office-xml.ts";

/** Most nested tables; the cells of deeper ones become paragraphs of the cell around them. */
const MAX_NESTED = 8;

interface Table {
  /** By first column: the text of the last cell that starts a vertical merge. */
  readonly merged: Map<number, string>;
  row: string[];
  column: number;
  isUnshown: boolean;
  cell: { texts: string[]; width: number; merge: "begins" | "continues" | null } | null;
}

/**
 * Reads tables of a Word document: each row becomes a line with its cells separated by tabs, and a merged value is repeated in each of its
 * rows.
 */
export interface TableReader {
  readonly isInCell: boolean;
  /** Adds a paragraph to the cell being read. */
  add(text: string): void;
  open(name: string, attributes: Readonly<Record<string, string>>, parent: string): void;
  close(name: string): void;
}

/** `add` is called with each row of a table that is not inside another table. */
export function createTableReader(add: (line: string) => void): TableReader {
  const tables: Table[] = [];
  let nested = 0;

  function endCell(table: Table): void {
    if (table.cell === null) return;
    const { texts, width, merge } = table.cell;
    const own = texts.filter((each) => each !== "").join(" ");
    const text = merge === "continues" && own === "" ? (table.merged.get(table.column) ?? "") : own;
    if (merge === null) table.merged.delete(table.column);
    else table.merged.set(table.column, text);
    table.row.push(text);
    table.column += width;
    table.cell = null;
  }

  function endRow(table: Table): void {
    const line = table.row.join("\t").trimEnd();
    if (line === "" || table.isUnshown) return;
    const around = tables.at(-2)?.cell;
    if (around === undefined || around === null) add(line);
    else around.texts.push(onOneLine(line));
  }

  return {
    get isInCell() {
      return (tables.at(-1)?.cell ?? null) !== null;
    },
    add: (text) => tables.at(-1)?.cell?.texts.push(text),
    open(name, attributes, parent) {
      const value = attributes["w:val"];
      if (name === "tbl") {
        nested += 1;
        if (nested <= MAX_NESTED) tables.push({ merged: new Map(), row: [], column: 0, isUnshown: false, cell: null });
      }
      const table = tables.at(-1);
      if (table === undefined || nested > MAX_NESTED) return;
      if (name === "tr") Object.assign(table, { row: [], column: 0, isUnshown: false });
      if (name === "tc") table.cell = { texts: [], width: 1, merge: null };
      if (parent === "trPr" && (name === "del" || name === "hidden")) table.isUnshown = true;
      if (table.cell === null || parent !== "tcPr") return;
      if (name === "gridSpan") table.cell.width = Math.min(Math.max(1, Number(value) || 1), 1000);
      if (name === "vMerge") table.cell.merge = value === "restart" ? "begins" : "continues";
    },
    close(name) {
      if (nested > MAX_NESTED) {
        if (name === "tbl") nested -= 1;
        return;
      }
      const table = tables.at(-1);
      if (table === undefined) return;
      if (name === "tc") endCell(table);
      if (name === "tr") endRow(table);
      if (name !== "tbl") return;
      nested -= 1;
      tables.pop();
    },
  };
}
