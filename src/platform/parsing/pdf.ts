import "./pdf-environment.ts";
import type { PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import { withoutControls } from "./decode-text.ts";
import { DocumentError, tooLarge } from "./errors.ts";
import { DOCUMENT_LIMITS, textTooLong } from "./limits.ts";
import { isOutOfMemory, openPdf, outOfMemory } from "./pdf-open.ts";
import { readNotes } from "./pdf-notes.ts";
import { joinHyphens } from "./join-hyphens.ts";
import { joinPages } from "./text-parts.ts";
import { PropertyCollector } from "./properties.ts";
import type { ReadDocument } from "./protocol.ts";

const MAX_TITLE = 500;
/** Titles that programs write if the author gave none. */
const NO_TITLE = /^\(?(anonymous|untitled|unspecified)\)?$/i;

/** The text of a PDF, page by page. Throws DocumentError. A page that cannot be read is empty and adds a warning. */
export async function readPdf(bytes: Uint8Array): Promise<Omit<ReadDocument, "headings">> {
  const pdf = await openPdf(bytes);
  if (pdf.numPages > DOCUMENT_LIMITS.pages)
    throw tooLarge(`The document has ${pdf.numPages} pages; at most ${DOCUMENT_LIMITS.pages} can be read.`);

  const texts: string[] = [];
  const notes: string[] = [];
  const warnings: string[] = [];
  let length = 0;
  let unread = 0;
  for (let page = 1; page <= pdf.numPages; page += 1) {
    const text = await readPage(pdf, page, DOCUMENT_LIMITS.textBytes - length).catch((error: unknown) => {
      if (error instanceof DocumentError) throw error;
      if (isOutOfMemory(error)) throw outOfMemory();
      unread += 1;
      warnings.push(`Page ${page} cannot be read.`);
      return "";
    });
    texts.push(text);
    const noted = await readNotes(pdf, page).catch(() => null);
    if (noted === null && text !== "") warnings.push(`Form fields and notes of page ${page} cannot be read.`);
    notes.push(withoutControls((noted ?? []).join("\n")));
    length += text.length + (notes.at(-1)?.length ?? 0);
    if (length > DOCUMENT_LIMITS.textBytes) throw textTooLong();
  }
  if (unread === pdf.numPages) throw new DocumentError("document_broken", "No page of the PDF can be read.");
  const scans = texts.flatMap((text, index) => (text === "" ? [index + 1] : []));
  const whole = joinHyphens(texts).map((text, index) => [text, notes[index]].filter((each) => each !== "").join("\n"));
  return { ...joinPages(whole), ...(await readInformation(pdf)), scans, warnings };
}

/** Streams the page's text, so that reading a page of gigabytes stops at the limit. */
async function readPage(pdf: PDFDocumentProxy, number: number, maxLength: number): Promise<string> {
  const page = await pdf.getPage(number);
  const reader = page.streamTextContent().getReader() as ReadableStreamDefaultReader<{
    items: ReadonlyArray<{ str?: string; hasEOL?: boolean }>;
  }>;
  const parts: string[] = [];
  let length = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    for (const { str = "", hasEOL = false } of read.value.items) {
      parts.push(str, hasEOL ? "\n" : "");
      length += str.length + 1;
    }
    if (length > maxLength) throw textTooLong();
  }
  page.cleanup();
  return withoutControls(parts.join(""))
    .replace(/(?<![ \t])[ \t]+\n/g, "\n")
    .trim();
}

/** The metadata of the PDF. A meaningless title is omitted. */
async function readInformation(pdf: PDFDocumentProxy): Promise<Pick<ReadDocument, "title" | "properties">> {
  const metadata = await pdf.getMetadata().catch(() => undefined);
  const info = (metadata?.info ?? {}) as Record<string, unknown>;
  const properties = new PropertyCollector();
  const given = info["Title"];
  const isTitle = typeof given === "string" && !NO_TITLE.test(given.slice(0, MAX_TITLE).trim());
  const title = isTitle ? withoutControls(given.slice(0, MAX_TITLE)).replace(/\s+/g, " ").trim() || null : null;
  for (const name of ["Author", "Keywords", "Language"]) properties.add(name, info[name]);
  properties.add("description", info["Subject"]);
  for (const name of ["CreationDate", "ModDate"]) properties.add(name, dateOfPdf(info[name]));
  const custom = info["Custom"];
  if (typeof custom === "object" && custom !== null)
    for (const [name, value] of Object.entries(custom)) properties.add(name, value);
  return { title, properties: properties.collected() };
}

/** Converts "D:20260131120000+01'00'" to an RFC 3339 time; other text stays unchanged. */
function dateOfPdf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const date = /^(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:(Z)|([+-])(\d{2})'?(\d{2})?)?/.exec(
    value.trim(),
  );
  if (date === null) return value;
  const [, year, month = "01", day = "01", hour = "00", minute = "00", second = "00", , sign, hours, minutes = "00"] =
    date;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${sign === undefined ? "Z" : `${sign}${hours}:${minutes}`}`;
}
