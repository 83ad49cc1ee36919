import { closesFence, fenceOf } from "./blocks.ts";

/** A piece ends at the first empty line after so many characters. */
const PIECE = 1500;

/**
 * Cuts a text into pieces that are formatted on their own. While the text grows only the last piece changes, so that an answer of any
 * length costs the same for each new word. Pieces end at empty lines outside of code.
 */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let fence: string | null = null;
  let from = 0;
  for (let at = 0; at < text.length;) {
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found;
    const line = text.slice(at, end);
    if (fence !== null) fence = closesFence(fence, line) ? null : fence;
    // Code in a list is indented.
    else fence = fenceOf(line.trimStart());
    const isCut = at - from >= PIECE && fence === null && line.trim() === "" && !isIndented(text, end + 1);
    if (isCut) {
      pieces.push(text.slice(from, at));
      from = end + 1;
    }
    at = end + 1;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}

const isIndented = (text: string, at: number): boolean => text[at] === " " || text[at] === "\t";
