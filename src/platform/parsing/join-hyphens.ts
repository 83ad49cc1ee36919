/** Most letters of a word that are examined on each side of a hyphen. */
const MAX_PART = 40;
const HYPHENS = new Set(["-", "\u2010", "\u00ad"]);

/**
 * Joins words that were hyphenated at line ends. The hyphen stays if the same text contains the word with it elsewhere, or if it is
 * followed by a capital letter or by something that is not a letter. A soft hyphen never stays.
 */
export function joinHyphens(pages: readonly string[]): string[] {
  const compounds = new Set<string>();
  if (!pages.some((page) => placesOf(page).length > 0)) return [...pages];
  for (const page of pages) {
    for (const [word] of page.matchAll(/[\p{L}\u2010-]+/gu)) {
      if (/[\u2010-]/.test(word.slice(1, -1))) compounds.add(plain(word));
    }
  }
  return pages.map((page) => joinPage(page, compounds));
}

const plain = (word: string): string => word.replaceAll("\u2010", "-").toLowerCase();

/** Matches hyphens before a line end. */
function placesOf(text: string): number[] {
  const places: number[] = [];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1))
    if (HYPHENS.has(text[end - 1] ?? "")) places.push(end - 1);
  return places;
}

function lettersAtEnd(text: string): string {
  const characters = [...text];
  const last = characters.findLastIndex((character) => !/^\p{L}$/u.test(character));
  return characters.slice(last + 1).join("");
}

function joinPage(text: string, compounds: ReadonlySet<string>): string {
  const parts: string[] = [];
  let from = 0;
  for (const at of placesOf(text)) {
    const before = lettersAtEnd(text.slice(Math.max(0, at - MAX_PART), at));
    const after = /^\p{L}+/u.exec(text.slice(at + 2, at + 2 + MAX_PART))?.[0] ?? "";
    const isSoft = text[at] === "\u00ad";
    if (before.length < 2 || !(isSoft || /^\p{Ll}/u.test(after))) continue;
    const keepsHyphen = !isSoft && compounds.has(`${before}-${after}`.toLowerCase());
    parts.push(text.slice(from, keepsHyphen ? at + 1 : at));
    from = at + 2;
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}
