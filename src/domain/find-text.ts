/** The remaining work of a search (steps of a few nanoseconds). */
export interface Budget {
  steps: number;
}

/** Longest prefix to search with `indexOf`, which is fast but not linear in the length of the prefix. */
const HEAD_CHARS = 6;
/** Characters that `indexOf` passes in the time of one step. */
const CHARS_A_STEP = 16;

/**
 * Finds a form in a text, including overlapping occurrences, in time linear in both lengths (Knuth, Morris, Pratt).
 * Returns how many characters at the end of the text are a prefix of the form.
 */
export function findAll(
  text: string,
  form: string,
  found: (start: number, end: number) => void,
  budget: Budget = { steps: Infinity },
): number {
  const head = form.slice(0, HEAD_CHARS);
  let borders: Int32Array | undefined;
  const shorter = (matched: number): number => {
    if (borders === undefined) budget.steps -= form.length;
    borders ??= bordersOf(form);
    return borders[matched - 1] ?? 0;
  };
  let matched = 0;
  for (let at = 0; at < text.length && budget.steps > 0; at += 1) {
    budget.steps -= 1;
    if (matched === 0) {
      const next = text.indexOf(head, at);
      // The end of the text may contain the beginning of the head.
      const from = next === -1 ? Math.max(at, text.length - head.length + 1) : next;
      budget.steps -= (from - at) / CHARS_A_STEP;
      at = from;
    }
    const char = text.charCodeAt(at);
    while (matched > 0 && char !== form.charCodeAt(matched)) matched = shorter(matched);
    if (char === form.charCodeAt(matched)) matched += 1;
    if (matched < form.length) continue;
    found(at + 1 - form.length, at + 1);
    matched = shorter(matched);
  }
  return matched;
}

/** For each prefix of a form, the length of its longest proper prefix that is also its suffix. */
function bordersOf(form: string): Int32Array {
  const borders = new Int32Array(form.length);
  let border = 0;
  for (let at = 1; at < form.length; at += 1) {
    while (border > 0 && form.charCodeAt(at) !== form.charCodeAt(border)) border = borders[border - 1] ?? 0;
    if (form.charCodeAt(at) === form.charCodeAt(border)) border += 1;
    borders[at] = border;
  }
  return borders;
}

/** Marks on positions of a text. Once made, they take a byte for each of its characters. */
export interface Marks {
  add(start: number, end: number): void;
  /** The text with one mask for each run of marked characters. */
  masked(mask: string): string;
}

/** Pieces to join at a time, because joining a very long chain takes several times its length. */
const PIECES = 4096;

export function createMarks(text: string): Marks {
  // Created only when something is found: most texts have nothing to mask.
  let marks: Uint8Array | undefined;
  let lastStart = 0;
  let lastEnd = 0;
  return {
    add(start, end) {
      marks ??= new Uint8Array(text.length);
      // Overlapping occurrences arrive in order, so their common part is marked once.
      const shared = start < lastEnd && lastEnd < end && start > lastStart;
      for (let at = shared ? lastEnd : start; at < end; at += 1) marks[at] = 1;
      lastStart = start;
      lastEnd = end;
    },
    masked(mask) {
      if (!marks) return text;
      let clean = "";
      let pieces: string[] = [];
      for (let at = 0; at < text.length;) {
        const start = marks.indexOf(1, at);
        if (start === -1) {
          pieces.push(text.slice(at));
          break;
        }
        pieces.push(text.slice(at, start), mask);
        const end = marks.indexOf(0, start);
        at = end === -1 ? text.length : end;
        if (pieces.length < PIECES) continue;
        clean += pieces.join("");
        pieces = [];
      }
      return clean + pieces.join("");
    },
  };
}
