import type { DocumentPage } from "./protocol.ts";

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
