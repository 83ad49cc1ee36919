import { openArchive, readRelations, readXml } from "./archive.ts";
import type { Archive } from "./archive.ts";
import { DocumentError } from "./errors.ts";
import { scanHtml } from "./html-scan.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";
import { PropertyCollector } from "./properties.ts";
import type { DocumentProperties } from "./properties.ts";
import type { DocumentHeading, DocumentPage } from "./protocol.ts";
import { createTextParts } from "./text-parts.ts";
import { readWorkbook } from "./workbook.ts";

const MAX_TITLE = 500;

interface OfficeText {
  readonly title: string | null;
  readonly properties: DocumentProperties;
  readonly text: string;
  readonly pages: readonly DocumentPage[] | null;
  readonly headings: readonly DocumentHeading[];
}

/** The text of a Word document, with its headings. Pictures are left out. Throws DocumentError. */
export async function readDocx(bytes: Uint8Array): Promise<OfficeText> {
  const archive = await openArchive(bytes);
  if (!archive.names.includes("word/document.xml")) throw notOf("Word document");
  await requireReadable(archive);
  const { default: mammoth } = await import("mammoth");
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const html = await mammoth.convertToHtml(
    { buffer },
    {
      // A style map that the document carries is a program for mammoth's parser.
      includeEmbeddedStyleMap: false,
      externalFileAccess: false,
      convertImage: mammoth.images.imgElement(async () => ({ src: "" })),
    },
  );
  const { text, headings } = scanHtml(html.value, { rows: true });
  return { ...(await propertiesOf(archive)), text, pages: null, headings };
}

/** The parts that mammoth makes its text of. */
const WORD_PARTS = /^word\/[^/]+\.xml$/;

/** Throws for a Word document that has more in it than can be read: mammoth would make all of it first. */
async function requireReadable(archive: Archive): Promise<void> {
  const parts = archive.names.filter((name) => WORD_PARTS.test(name));
  const bytes = parts.reduce((sum, name) => sum + archive.size(name), 0);
  if (bytes > DOCUMENT_LIMITS.wordBytes) {
    const message = `The document has more than ${mib(DOCUMENT_LIMITS.wordBytes)} of text with its formatting.`;
    throw new DocumentError("document_too_large", message);
  }
  if (bytes <= DOCUMENT_LIMITS.textBytes) return;
  const text = createTextParts();
  for (const name of parts) readXml((await archive.read(name)) ?? "<none/>", { text: (part) => text.add(part) });
}

/** The text of a presentation: a page for each slide, with its notes; titles are headings. Throws DocumentError. */
export async function readPptx(bytes: Uint8Array): Promise<OfficeText> {
  const archive = await openArchive(bytes);
  const slides = await slidesOf(archive);
  if (slides.length > DOCUMENT_LIMITS.pages) {
    const message = `The presentation has ${slides.length} slides; ${DOCUMENT_LIMITS.pages} can be read.`;
    throw new DocumentError("document_too_large", message);
  }
  const parts = createTextParts();
  const pages: DocumentPage[] = [];
  const headings: DocumentHeading[] = [];
  for (const [index, slide] of slides.entries()) {
    if (index > 0) parts.add("\n\n");
    const char_start = parts.length;
    const notes = [...(await readRelations(archive, slide)).values()].filter(({ type }) => type === "notesSlide");
    const paragraphs = [
      ...paragraphsOf((await archive.read(slide)) ?? "<none/>"),
      ...(notes[0] ? paragraphsOf((await archive.read(notes[0].path)) ?? "<none/>") : []),
    ];
    for (const [at, { text, isTitle }] of paragraphs.entries()) {
      if (at > 0) parts.add("\n");
      const start = parts.length;
      parts.add(text);
      if (isTitle) headings.push({ level: 1, char_start: start, char_end: parts.length });
    }
    pages.push({ page: index + 1, char_start, char_end: parts.length });
  }
  return { ...(await propertiesOf(archive)), text: parts.toString(), pages, headings };
}

/** The text of a workbook: sheets under their names, rows as lines, cells between tabs. Throws DocumentError. */
export async function readXlsx(bytes: Uint8Array): Promise<OfficeText> {
  const archive = await openArchive(bytes);
  const { text, headings } = await readWorkbook(archive);
  return { ...(await propertiesOf(archive)), text, pages: null, headings };
}

/** Paths of the slides in the order of the presentation. */
async function slidesOf(archive: Archive): Promise<string[]> {
  const presentation = await archive.read("ppt/presentation.xml");
  if (presentation === null) throw notOf("presentation");
  const relations = await readRelations(archive, "ppt/presentation.xml");
  const slides: string[] = [];
  readXml(presentation, {
    open(name, attributes) {
      const path = name === "sldId" ? relations.get(attributes["r:id"] ?? "")?.path : undefined;
      if (path !== undefined) slides.push(path);
    },
  });
  return slides;
}

/** The paragraphs of a slide that have text, a row of a table as one. Page numbers and the like are fields, and left out. */
function paragraphsOf(xml: string): { text: string; isTitle: boolean }[] {
  const paragraphs: { text: string; isTitle: boolean }[] = [];
  let isTitle = false;
  let isField = false;
  let isText = false;
  let text = "";
  let row: string[] = [];
  let cell: string[] | null = null;
  readXml(xml, {
    open(name, { type }) {
      if (name === "tr") row = [];
      if (name === "tc") cell = [];
      if (name === "sp" || name === "graphicFrame") isTitle = false;
      if (name === "ph") isTitle = type === "title" || type === "ctrTitle";
      if (name === "fld") isField = true;
      if (name === "p") text = "";
      if (name === "br" || name === "tab") text += " ";
      isText = name === "t";
    },
    text(part) {
      if (isText && !isField) text += part;
    },
    close(name) {
      isText = false;
      if (name === "fld") isField = false;
      if (name === "tc") {
        row.push(cell?.join(" ") ?? "");
        cell = null;
      }
      if (name === "tr" && row.some((each) => each !== "")) paragraphs.push({ text: row.join("\t"), isTitle: false });
      if (name !== "p") return;
      if (text.trim() !== "") {
        if (cell === null) paragraphs.push({ text: text.trim(), isTitle });
        else cell.push(text.replace(/\s+/g, " ").trim());
      }
      text = "";
    },
  });
  return paragraphs;
}

/** The document's properties: core ones, and ones that somebody has added. */
async function propertiesOf(archive: Archive): Promise<Pick<OfficeText, "title" | "properties">> {
  const collected = new PropertyCollector();
  let name = "";
  let value = "";
  readXml((await archive.read("docProps/core.xml")) ?? "<none/>", {
    open(opened) {
      name = opened;
      value = "";
    },
    text(part) {
      if (value.length < MAX_TITLE) value += part;
    },
    close(closed) {
      if (closed === name) collected.add(name, value);
      name = "";
    },
  });
  let isProperty = false;
  readXml((await archive.read("docProps/custom.xml")) ?? "<none/>", {
    open(opened, attributes) {
      if (opened !== "property") return;
      isProperty = true;
      name = attributes["name"] ?? "";
      value = "";
    },
    text(part) {
      if (isProperty && value.length < MAX_TITLE) value += part;
    },
    close(closed) {
      if (closed !== "property") return;
      isProperty = false;
      collected.add(name, value);
    },
  });
  const { title, ...properties } = collected.collected();
  return { title: title?.slice(0, MAX_TITLE) ?? null, properties };
}

function notOf(what: string): DocumentError {
  return new DocumentError("document_broken", `The file is not a ${what}, although its name says so.`);
}
