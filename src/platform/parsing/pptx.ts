import { readRelations, readXml, type Archive } from "./archive.ts";
import { readDrawings, takeDrawing } from "./office-drawings.ts";
import { officeHandlers, onOneLine, readTexts } from "./office-xml.ts";

/** A line of a slide. */
export interface SlideLine {
  readonly text: string;
  readonly isTitle: boolean;
}

const SHAPE = /^(sp|pic|grpSp|graphicFrame|cxnSp)$/;

/** The lines of a slide, its notes and comments; null for a hidden slide. */
export async function readSlide(archive: Archive, path: string): Promise<SlideLine[] | null> {
  const relations = [...(await readRelations(archive, path)).values()];
  const lines = linesOf(await archive.read(path), await readDrawings(archive, path));
  if (lines === null) return null;
  const notes = relations.find(({ type }) => type === "notesSlide");
  if (notes !== undefined) {
    lines.push(...(linesOf(await archive.read(notes.path), await readDrawings(archive, notes.path)) ?? []));
  }
  for (const comments of relations.filter(({ type }) => type === "comments")) {
    readTexts(await archive.read(comments.path), "cm", /^(text|t)$/, (text) => {
      if (text !== "") lines.push({ text: `Comment: ${text}`, isTitle: false });
    });
  }
  return lines;
}

/**
 * The paragraphs of a slide that have text, table rows as one line each, and the descriptions of its pictures. Fields such as page numbers,
 * and hidden shapes, are omitted.
 */
function linesOf(xml: string | null, drawings: Map<string, string[]>): SlideLine[] | null {
  const lines: SlideLine[] = [];
  let isHidden = false;
  /** For each of the nested open shapes, whether it is hidden. */
  const shapes: boolean[] = [];
  let isTitle = false;
  let isField = false;
  let isText = false;
  let text = "";
  let row: string[] = [];
  let cell: { texts: string[]; continues: boolean } | null = null;
  /** By column: the text of the cell above. */
  let above: string[] = [];

  function add(line: string): void {
    const plain = cell === null ? line.trim() : onOneLine(line);
    if (plain === "" || shapes.includes(true)) return;
    if (cell === null) lines.push({ text: plain, isTitle });
    else cell.texts.push(plain);
  }

  function open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === "sld") isHidden = isOff(attributes["show"]);
    if (SHAPE.test(name)) {
      shapes.push(false);
      isTitle = false;
    }
    if (name === "cNvPr" && shapes.length > 0) {
      if (/^(1|true)$/.test(attributes["hidden"] ?? "")) shapes[shapes.length - 1] = true;
      add(attributes["descr"] ?? "");
    }
    if (!shapes.includes(true)) for (const line of takeDrawing(drawings, name, attributes)) add(line);
    if (name === "ph") isTitle = attributes["type"] === "title" || attributes["type"] === "ctrTitle";
    if (name === "tbl") above = [];
    if (name === "tr") row = [];
    if (name === "tc") cell = { texts: [], continues: /^(1|true)$/.test(attributes["vMerge"] ?? "") };
    if (name === "fld") isField = true;
    if (name === "p") text = "";
    if (name === "br" || name === "tab") text += " ";
    isText = name === "t";
  }

  function close(name: string): void {
    isText = false;
    if (SHAPE.test(name)) shapes.pop();
    if (name === "fld") isField = false;
    if (name === "tc" && cell !== null) {
      const own = cell.texts.join(" ");
      row.push(cell.continues && own === "" ? (above[row.length] ?? "") : own);
      cell = null;
    }
    if (name === "tr") {
      if (row.some((each) => each !== "")) lines.push({ text: row.join("\t"), isTitle: false });
      above = row;
    }
    if (name !== "p") return;
    add(text);
    text = "";
  }

  const handlers = officeHandlers({
    open,
    text(part) {
      if (isText && !isField) text += part;
    },
    close,
    formula(written) {
      text += written;
    },
  });
  readXml(xml, handlers);
  return isHidden ? null : lines;
}

const isOff = (value: string | undefined): boolean => value !== undefined && /^(0|false)$/.test(value);
