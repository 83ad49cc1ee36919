import { withoutControls } from "./decode-text.ts";
import { DOCUMENT_LIMITS, textTooLong } from "./limits.ts";
import type { DocumentHeading, DocumentPage } from "./protocol.ts";

/** A text joined from parts with known positions, up to the longest text a document may have. */
export interface TextParts {
  /** Length so far in UTF-16 units. */
  readonly length: number;
  readonly headings: DocumentHeading[];
  /** Adds a part; headings have a level. Throws DocumentError `document_too_large`. */
  add(text: string, level?: number | null): void;
  toString(): string;
}

export function createTextParts(): TextParts {
  const parts: string[] = [];
  const headings: DocumentHeading[] = [];
  let length = 0;
  return {
    get length() {
      return length;
    },
    headings,
    add(raw, level = null) {
      const text = withoutControls(raw);
      const char_start = length;
      length += text.length;
      if (length > DOCUMENT_LIMITS.textBytes) throw textTooLong();
      parts.push(text);
      if (level !== null) headings.push({ level, char_start, char_end: length });
    },
    toString: () => parts.join(""),
  };
}

const PAGE_BREAK = "\n\n";

/** Joins the text of pages to the text of a document, with the position of each page in it. */
export function joinPages(texts: readonly string[]): { readonly text: string; readonly pages: DocumentPage[] } {
  let at = 0;
  const pages = texts.map((text, index) => {
    const page = { page: index + 1, char_start: at, char_end: at + text.length };
    at += text.length + PAGE_BREAK.length;
    return page;
  });
  return { text: texts.join(PAGE_BREAK), pages };
}
