import { readRelations, readXml, type Archive } from "./archive.ts";
import { readStyles } from "./docx-styles.ts";
import { createStoryReader, type AddNote, type AddText } from "./docx-story.ts";
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
  const style = readStyles(await archive.read(partsOf("styles")[0] ?? "word/styles.xml"));
  const notes = new Map<string, string>();
  const read = async (path: string, add: AddText, addNote?: AddNote): Promise<void> => {
    const context = { style, notes: addNote ? new Map() : notes, drawings: await readDrawings(archive, path) };
    readXml(await archive.read(path), createStoryReader(context, add, addNote));
  };
  const keep: AddNote = (key, text) => void notes.set(key, text);
  for (const path of NOTES.flatMap(partsOf)) await read(path, () => undefined, keep);
  const parts = createTextParts();
  const add: AddText = (text, level) => {
    if (parts.length > 0) parts.add("\n");
    parts.add(text, level);
  };
  const said = new Set<string>();
  // Every section has its own headers and footers. They are mostly the same, and some contain only the page number.
  const addOnce: AddText = (text) => {
    if (!/\p{L}/u.test(text) || said.has(text)) return;
    said.add(text);
    add(text, null);
  };
  for (const path of partsOf("header")) await read(path, addOnce);
  await read(DOCUMENT, add);
  for (const path of partsOf("footer")) await read(path, addOnce);
  return { text: parts.toString(), headings: parts.headings };
}
