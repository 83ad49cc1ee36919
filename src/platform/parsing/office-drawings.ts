import { readRelations, readXml, type Archive } from "./archive.ts";
import { onOneLine } from "./office-xml.ts";

/** Types of parts that a drawing in a document shows, and whose text is in a separate file. */
const DRAWN = new Set(["chart", "chartEx", "diagramData"]);

/** The text of the charts and diagrams of a part, keyed by the ID of their relationship, one string per line. */
export async function readDrawings(archive: Archive, part: string): Promise<Map<string, string[]>> {
  const drawings = new Map<string, string[]>();
  for (const [id, { path, type }] of await readRelations(archive, part)) {
    if (!DRAWN.has(type)) continue;
    drawings.set(id, wordsOf(await archive.read(path)));
  }
  return drawings;
}

/** Returns the text of a drawing the first time that an element shows it; empty for other elements. */
export function takeDrawing(
  drawings: Map<string, string[]>,
  name: string,
  attributes: Readonly<Record<string, string>>,
): string[] {
  const id = name === "chart" ? attributes["r:id"] : name === "relIds" ? attributes["r:dm"] : undefined;
  const lines = drawings.get(id ?? "") ?? [];
  if (id !== undefined) drawings.delete(id);
  return lines;
}

/** The text of a workbook drawing, one string per line: text boxes, descriptions of pictures, charts. */
export async function readDrawing(archive: Archive, path: string): Promise<string[]> {
  const drawings = await readDrawings(archive, path);
  const lines: string[] = [];
  let paragraph = "";
  let isText = false;
  readXml(await archive.read(path), {
    open(name, attributes) {
      if (name === "p") paragraph = "";
      if (name === "cNvPr" && !/^(1|true)$/.test(attributes["hidden"] ?? "")) {
        const description = onOneLine(attributes["descr"] ?? "");
        if (description !== "") lines.push(description);
      }
      lines.push(...takeDrawing(drawings, name, attributes));
      isText = name === "t";
    },
    text(part) {
      if (isText) paragraph += part;
    },
    close(name) {
      isText = false;
      if (name === "p" && onOneLine(paragraph) !== "") lines.push(onOneLine(paragraph));
      if (name === "p") paragraph = "";
    },
  });
  return lines;
}

/**
 * Titles and labels unchanged, and each series of a chart on one line: its name, then its categories and values ("Rain: May 12, June 30").
 */
function wordsOf(xml: string | null): string[] {
  const lines: string[] = [];
  let paragraph = "";
  let isText = false;
  let isValue = false;
  let value = "";
  let list: string[] | null = null;
  let series: { name: string; categories: string[]; values: string[] } | null = null;
  readXml(xml, {
    open(name) {
      if (name === "p") paragraph = "";
      if (name === "ser" || name === "series") series = { name: "", categories: [], values: [] };
      if (name === "cat" || name === "xVal") list = series?.categories ?? null;
      if (name === "val" || name === "yVal") list = series?.values ?? null;
      if (name === "tx") list = null;
      isText = name === "t";
      isValue = name === "v" && series !== null;
      if (isValue) value = "";
    },
    text(part) {
      if (isText) paragraph += part;
      if (isValue) value += part;
    },
    close(name) {
      if (name === "v" && isValue && series !== null) {
        if (list === null) series.name ||= onOneLine(value);
        else list.push(onOneLine(value));
      }
      isText = false;
      isValue = false;
      if (name === "p" && onOneLine(paragraph) !== "") lines.push(onOneLine(paragraph));
      if (name === "p") paragraph = "";
      if ((name === "ser" || name === "series") && series !== null) {
        const { categories, values } = series;
        const points = values.map((each, index) => [categories[index] ?? "", each].join(" ").trim());
        const line = [series.name, (points.length > 0 ? points : categories).join(", ")].filter((each) => each !== "");
        if (line.length > 0) lines.push(line.join(": "));
        series = null;
        list = null;
      }
    },
  });
  return lines;
}
