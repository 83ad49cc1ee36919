import "./pdf-environment.ts";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { PDFDocumentLoadingTask, PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import { getDocument } from "pdfjs-dist/legacy/build/pdf.mjs";
import { withoutControls } from "./decode-text.ts";
import { DocumentError } from "./errors.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";
import type { DocumentPage } from "./protocol.ts";

const PAGE_BREAK = "\n\n";
const MAX_TITLE = 500;
/** What programs write where nobody gave a title. */
const NO_TITLE = /^\(?(anonymous|untitled|unspecified)\)?$/i;
/** What text in Chinese, Japanese and Korean fonts is decoded with; part of the package. */
const CMAPS = `${join(createRequire(import.meta.url).resolve("pdfjs-dist/package.json"), "..", "cmaps")}/`;

/** The text of a PDF, page by page. Throws DocumentError. A page that cannot be read is empty, and a warning. */
export async function readPdf(
  bytes: Uint8Array,
): Promise<{ text: string; title: string | null; pages: DocumentPage[]; warnings: string[] }> {
  const task = getDocument({
    // pdfjs refuses a Buffer. Its memory is handed over, not copied.
    data: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    isEvalSupported: false,
    useWasm: false,
    useWorkerFetch: false,
    useSystemFonts: false,
    disableFontFace: true,
    enableXfa: false,
    cMapUrl: CMAPS,
    cMapPacked: true,
    verbosity: 0,
  });
  const pdf = await open(task);
  if (pdf.numPages > DOCUMENT_LIMITS.pages) {
    const message = `The document has ${pdf.numPages} pages; ${DOCUMENT_LIMITS.pages} can be read.`;
    throw new DocumentError("document_too_large", message);
  }

  const texts: string[] = [];
  const pages: DocumentPage[] = [];
  const warnings: string[] = [];
  let length = 0;
  for (let page = 1; page <= pdf.numPages; page += 1) {
    const text = await readPage(pdf, page, DOCUMENT_LIMITS.textBytes - length).catch((error: unknown) => {
      if (error instanceof DocumentError) throw error;
      if (isOutOfMemory(error)) throw outOfMemory();
      warnings.push(`Page ${page} cannot be read.`);
      return "";
    });
    if (page > 1) length += PAGE_BREAK.length;
    pages.push({ page, char_start: length, char_end: length + text.length });
    texts.push(text);
    length += text.length;
  }
  if (warnings.length === pdf.numPages) throw new DocumentError("document_broken", "No page of the PDF can be read.");
  return { text: texts.join(PAGE_BREAK), title: await titleOf(pdf), pages, warnings };
}

async function open(task: PDFDocumentLoadingTask): Promise<PDFDocumentProxy> {
  try {
    return await task.promise;
  } catch (error) {
    if (isOutOfMemory(error)) throw outOfMemory();
    if (error instanceof Error && error.name === "PasswordException") {
      throw new DocumentError("document_encrypted", "The PDF is protected by a password.");
    }
    throw new DocumentError("document_broken", "The file is not a readable PDF.", { cause: error });
  }
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

function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof Error &&
    /allocation failed|allocate memory|out of memory|Invalid (typed )?array (buffer )?length/i.test(error.message)
  );
}

function outOfMemory(): DocumentError {
  return new DocumentError("document_too_large", "Reading the document needs more memory than it may use.");
}
