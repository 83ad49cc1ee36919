import { charsetOfPage, decodeText, withoutControls } from "./decode-text.ts";
import { DocumentError } from "./errors.ts";
import { DOCUMENT_LIMITS, mib } from "./limits.ts";
import { readPdf } from "./pdf.ts";
import type { DocumentPage, ParseRequest } from "./protocol.ts";

/** The text of an HTML page; made by whoever composes the child. */
export type HtmlToText = (html: string) => { title: string | null; text: string };

/** A document as text. `pages` is null where its type has none. */
export interface ReadDocument {
  readonly text: string;
  readonly title: string | null;
  readonly pages: readonly DocumentPage[] | null;
  readonly warnings: readonly string[];
}

/** Reads a document in this process. Throws DocumentError; hostile files may also take all time and memory there is. */
export async function readDocument(
  { mime, charset }: ParseRequest,
  bytes: Uint8Array,
  htmlToText: HtmlToText,
): Promise<ReadDocument> {
  const document = await readByType(mime, charset, bytes, htmlToText);
  if (document.text.trim() === "") {
    const scan = mime === "application/pdf" ? " It may be a scan: pictures of text are not read." : "";
    throw new DocumentError("document_empty", `There is no text in the document.${scan}`);
  }
  if (Buffer.byteLength(document.text) > DOCUMENT_LIMITS.textBytes) {
    const message = `The document's text is longer than ${mib(DOCUMENT_LIMITS.textBytes)}.`;
    throw new DocumentError("document_too_large", message);
  }
  return document;
}

async function readByType(
  mime: ParseRequest["mime"],
  charset: string | null,
  bytes: Uint8Array,
  htmlToText: HtmlToText,
): Promise<ReadDocument> {
  const plain = { title: null, pages: null, warnings: [] };
  switch (mime) {
    case "application/pdf":
      return await readPdf(bytes);
    case "text/html": {
      const { title, text } = htmlToText(decodeText(bytes, charset ?? charsetOfPage(bytes)));
      return { ...plain, title, text: withoutControls(text) };
    }
    case "text/markdown": {
      const text = withoutControls(decodeText(bytes, charset));
      return { ...plain, title: /^#[ \t]+(\S.{0,499})$/m.exec(text.slice(0, 10_000))?.[1]?.trim() ?? null, text };
    }
    case "application/json": {
      const text = decodeText(bytes, charset);
      checkJson(text);
      return { ...plain, text };
    }
    // The separators and quotes of a table are part of its text: a model reads it as it is, however odd they are.
    case "text/csv":
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
