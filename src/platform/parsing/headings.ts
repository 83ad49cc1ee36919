import type { DocumentHeading } from "./protocol.ts";

const MAX_HEADER_ROW = 2000;

/** The headings of a Markdown text, including those underlined with = or -. Fenced code contains none. */
export function markdownHeadings(text: string): DocumentHeading[] {
  const headings: DocumentHeading[] = [];
  let fence = "";
  let previous = "";
  let at = 0;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence !== "") {
      if (mark.startsWith(fence)) fence = "";
    } else if (mark !== "") {
      fence = mark;
    } else {
      const hashes = /^ {0,3}(#{1,6})[ \t]+\S/.exec(line)?.[1];
      const underline = /^ {0,3}(=+|-{2,})[ \t]*$/.exec(line)?.[1];
      if (hashes !== undefined) {
        headings.push({ level: hashes.length, char_start: at, char_end: at + line.length });
      } else if (underline !== undefined && /^ {0,3}[^\s>#|-]/.test(previous)) {
        const level = underline.startsWith("=") ? 1 : 2;
        headings.push({ level, char_start: at - previous.length - 1, char_end: at - 1 });
      }
    }
    previous = fence === "" ? line : "";
    at += line.length + 1;
  }
  return headings;
}

/** The first row of a table that is written as text, because it names the columns. */
export function headerRow(text: string): DocumentHeading[] {
  let isQuoted = false;
  for (let at = 0; at < Math.min(text.length, MAX_HEADER_ROW); at += 1) {
    const char = text[at];
    if (char === '"') isQuoted = !isQuoted;
    if (char === "\n" && !isQuoted) return at === 0 ? [] : [{ level: 1, char_start: 0, char_end: at }];
  }
  return [];
}
