import { readRelations, readXml } from "./archive.ts";
import type { Archive } from "./archive.ts";
import { readStyles } from "./docx-styles.ts";
import { createStoryReader } from "./docx-story.ts";
import { readDrawings } from "./office-drawings.ts";
import type { DocumentHeading } from "./protocol.ts";
import { createTextParts } from "./text-parts.ts";

const DOCUMENT = "word/document.xml";
/** Parts in addition to the text, with the element names of their notes. */
const NOTES = ["footnotes", "endnotes", "comments"];

/**
 * The text of a Word document in reading order: the headers, then paragraphs and the rows of tables as lines, with notes and comments after
 * the paragraph that refers to them, then the footers.
 */
export async function readWordText(archive: Archive): Promise<{ text: string; headings: DocumentHeading[] }> {
  const relations = [...(await readRelations(archive, DOCUMENT)).values()];
  const partsOf = (type: string): string[] => relations.filter((each) => each.type === type).map(({ path }) => path);
  const style = readStyles((await archive.read(partsOf("styles")[0] ?? "word/styles.xml")) ?? "<none/>");
  const notes = new Map<string, string>();
  for (const type of NOTES) {
    for (const path of partsOf(type)) {
      const context = { style, notes: new Map<string, string>(), drawings: await readDrawings(archive, path) };
      const story = createStoryReader(
        context,
        () => undefined,
        (key, text) => notes.set(key, text),
      );
      readXml((await archive.read(path)) ?? "<none/>", story);
    }
  }
  const parts = createTextParts();
  const headings: DocumentHeading[] = [];
  const add = (text: string, level: number | null): void => {
    if (parts.length > 0) parts.add("\n");
    const char_start = parts.length;
    parts.add(text);
    if (level !== null) headings.push({ level, char_start, char_end: parts.length });
  };
  const said = new Set<string>();
  const margin = async (type: string): Promise<void> => {
    for (const path of partsOf(type)) {
      const context = { style, notes, drawings: await readDrawings(archive, path) };
      // Every section has its own headers and footers. They are mostly the same, and some contain only the page number.
      const story = createStoryReader(context, (text) => {
        if (!/\p{L}/u.test(text) || said.has(text)) return;
        said.add(text);
        add(text, null);
      });
      readXml((await archive.read(path)) ?? "<none/>", story);
    }
  };
  await margin("header");
  const context = { style, notes, drawings: await readDrawings(archive, DOCUMENT) };
  readXml((await archive.read(DOCUMENT)) ?? "<none/>", createStoryReader(context, add));
  await margin("footer");
  return { text: parts.toString(), headings };
}
