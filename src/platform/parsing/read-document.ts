import { charsetOfPage, decodeText, withoutControls } from "./decode-text.ts";
import { DocumentError } from "./errors.ts";
import { DOCUMENT_LIMITS, textTooLong } from "./limits.ts";
import { readEpub } from "./epub.ts";
import { DOCX, EPUB, MAIL, PPTX, XLSX } from "./mime.ts";
import { readMail } from "./mail.ts";
import { headerRow, markdownHeadings } from "./headings.ts";
import { htmlToText } from "./html-text.ts";
import { readDocx, readPptx, readXlsx } from "./office.ts";
import { readPdf } from "./pdf.ts";
import type { ParseRequest, ReadDocument } from "./protocol.ts";

/** Reads a document in this process. Throws DocumentError; a hostile file may use all available time and memory. */
export async function readDocument({ mime, charset, scans }: ParseRequest, bytes: Uint8Array): Promise<ReadDocument> {
  const document = await readByType(mime, charset, bytes);
  if (document.text.trim() === "" && !(scans && document.pages !== null)) {
    const scan = mime === "application/pdf" ? " It may be a scan: text in images needs OCR." : "";
    throw new DocumentError("document_empty", `The document contains no text.${scan}`);
  }
  if (Buffer.byteLength(document.text) > DOCUMENT_LIMITS.textBytes) throw textTooLong();
  return { ...document, ...titled(document), headings: document.headings.slice(0, DOCUMENT_LIMITS.headings) };
}

/** A title is also stored as a property. */
function titled({ title, properties }: ReadDocument): Pick<ReadDocument, "properties"> {
  return { properties: title === null ? properties : { ...properties, title } };
}

async function readByType(
  mime: ParseRequest["mime"],
  charset: string | null,
  bytes: Uint8Array,
): Promise<ReadDocument> {
  const plain = { title: null, properties: {}, pages: null, headings: [], warnings: [] };
  switch (mime) {
    case "application/pdf":
      return { ...plain, ...(await readPdf(bytes)) };
    case "text/html": {
      return { ...plain, ...htmlToText(decodeText(bytes, charset ?? charsetOfPage(bytes))) };
    }
    case "text/markdown": {
      const text = withoutControls(decodeText(bytes, charset));
      const title = /^#[ \t]+(\S.{0,499})$/m.exec(text.slice(0, 10_000))?.[1]?.trim() ?? null;
      return { ...plain, title, text, headings: markdownHeadings(text) };
    }
    case "application/json": {
      const text = decodeText(bytes, charset);
      checkJson(text);
      return { ...plain, text };
    }
    // The separators and quotes of a table are kept in its text: a model reads them as they are, however unusual they are.
    case "text/csv": {
      const text = withoutControls(decodeText(bytes, charset));
      return { ...plain, text, headings: headerRow(text) };
    }
    case DOCX:
      return { ...plain, ...(await readDocx(bytes)) };
    case XLSX:
      return { ...plain, ...(await readXlsx(bytes)) };
    case PPTX:
      return { ...plain, ...(await readPptx(bytes)) };
    case MAIL:
      return { ...plain, ...(await readMail(bytes)) };
    case EPUB:
      return { ...plain, ...(await readEpub(bytes)) };
    case "text/plain":
      return { ...plain, text: withoutControls(decodeText(bytes, charset)) };
  }
}

function checkJson(text: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : "";
    throw new DocumentError("document_broken", `The file is not valid JSON (${reason}).`, { cause: error });
  }
}
