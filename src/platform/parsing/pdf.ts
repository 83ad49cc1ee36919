import "./pdf-environment.ts";
import type { PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import { withoutControls } from "./decode-text.ts";
import { DocumentError } from "./errors.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";
import { isOutOfMemory, openPdf, outOfMemory } from "./pdf-open.ts";
import { joinPages } from "./join-pages.ts";
import type { DocumentPage } from "./protocol.ts";

const MAX_TITLE = 500;
/** What programs write where nobody gave a title. */
const NO_TITLE = /^\(?(anonymous|untitled|unspecified)\)?$/i;

/** The text of a PDF, page by page. Throws DocumentError. A page that cannot be read is empty, and a warning. */
export async function readPdf(
  bytes: Uint8Array,
): Promise<{ text: string; title: string | null; pages: DocumentPage[]; warnings: string[] }> {
  const pdf = await openPdf(bytes);
  if (pdf.numPages > DOCUMENT_LIMITS.pages) {
    const message = `The document has ${pdf.numPages} pages; ${DOCUMENT_LIMITS.pages} can be read.`;
    throw new DocumentError("document_too_large", message);
  }

  const texts: string[] = [];
  const warnings: string[] = [];
  let length = 0;
  for (let page = 1; page <= pdf.numPages; page += 1) {
    const text = await readPage(pdf, page, DOCUMENT_LIMITS.textBytes - length).catch((error: unknown) => {
      if (error instanceof DocumentError) throw error;
      if (isOutOfMemory(error)) throw outOfMemory();
      warnings.push(`Page ${page} cannot be read.`);
      return "";
    });
    texts.push(text);
    length += text.length;
  }
  if (warnings.length === pdf.numPages) throw new DocumentError("document_broken", "No page of the PDF can be read.");
  return { ...joinPages(texts), title: await titleOf(pdf), warnings };
}

/** Streams the page's text, so that a page of gigabytes is left at the limit. */
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
    if (length > maxLength) {
      const message = `The document's text is longer than ${mib(DOCUMENT_LIMITS.textBytes)}.`;
      throw new DocumentError("document_too_large", message);
    }
  }
  page.cleanup();
  return withoutControls(parts.join(""))
    .replace(/[ \t]+\n/g, "\n")
    .trim();
}

async function titleOf(pdf: PDFDocumentProxy): Promise<string | null> {
  const metadata = await pdf.getMetadata().catch(() => undefined);
  const title: unknown = metadata === undefined ? undefined : (metadata.info as Record<string, unknown>)["Title"];
  if (typeof title !== "string" || NO_TITLE.test(title.trim())) return null;
  return withoutControls(title).replace(/\s+/g, " ").trim().slice(0, MAX_TITLE) || null;
}
