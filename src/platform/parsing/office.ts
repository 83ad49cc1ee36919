import { openArchive, readRelations, readXml, type Archive } from "./archive.ts";
import { DocumentError, tooLarge } from "./errors.ts";
import { readWordText } from "./docx.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";
import { readSlide } from "./pptx.ts";
import { PropertyCollector } from "./properties.ts";
import { readTexts } from "./office-xml.ts";
import type { DocumentPage, ReadDocument } from "./protocol.ts";
import { createTextParts } from "./text-parts.ts";
import { readWorkbook } from "./workbook.ts";

const MAX_TITLE = 500;

type OfficeText = Omit<ReadDocument, "scans" | "warnings">;

/** The text of a Word document, with its headings. Throws DocumentError. */
export async function readDocx(bytes: Uint8Array): Promise<OfficeText> {
  const archive = await openArchive(bytes);
  if (!archive.names.includes("word/document.xml")) throw notOf("Word document");
  requireReadable(archive);
  const { text, headings } = await readWordText(archive);
  return { ...(await propertiesOf(archive)), text, pages: null, headings };
}

/** Throws for a Word document with more content than can be read in the time limit, because formatting costs time without adding text. */
function requireReadable(archive: Archive): void {
  const parts = archive.names.filter((name) => /^word\/[^/]+\.xml$/.test(name));
  if (parts.reduce((sum, name) => sum + archive.size(name), 0) <= DOCUMENT_LIMITS.wordBytes) return;
  throw tooLarge(`The document has more than ${mib(DOCUMENT_LIMITS.wordBytes)} of text with its formatting.`);
}

/** The text of a presentation: a page for each visible slide, with its notes; titles are headings. Throws DocumentError. */
export async function readPptx(bytes: Uint8Array): Promise<OfficeText> {
  const archive = await openArchive(bytes);
  const slides = await slidesOf(archive);
  if (slides.length > DOCUMENT_LIMITS.pages)
    throw tooLarge(`The presentation has ${slides.length} slides; at most ${DOCUMENT_LIMITS.pages} can be read.`);
  const parts = createTextParts();
  const pages: DocumentPage[] = [];
  for (const [index, slide] of slides.entries()) {
    const lines = await readSlide(archive, slide);
    if (lines === null) continue;
    if (pages.length > 0) parts.add("\n\n");
    const char_start = parts.length;
    for (const [at, { text, isTitle }] of lines.entries()) {
      if (at > 0) parts.add("\n");
      parts.add(text, isTitle ? 1 : null);
    }
    pages.push({ page: index + 1, char_start, char_end: parts.length });
  }
  return { ...(await propertiesOf(archive)), text: parts.toString(), pages, headings: parts.headings };
}

/** The text of a workbook: sheets under their names, rows as lines, cells separated by tabs. Throws DocumentError. */
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

/** The document's properties: the standard ones, and custom ones. */
async function propertiesOf(archive: Archive): Promise<Pick<OfficeText, "title" | "properties">> {
  const collected = new PropertyCollector();
  let name = "";
  let value = "";
  readXml(await archive.read("docProps/core.xml"), {
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
  readTexts(await archive.read("docProps/custom.xml"), "property", /./, (text, attributes) =>
    collected.add(attributes["name"] ?? "", text),
  );
  const { title, ...properties } = collected.collected();
  return { title: title?.slice(0, MAX_TITLE) ?? null, properties };
}

function notOf(what: string): DocumentError {
  return new DocumentError("document_broken", `The file is not a ${what}, although its name says so.`);
}
