/**
 * What a pattern is made of: quoted text, an escape, a class, the beginning of a group, a counted repetition, or else one
 * character. Classes and quoted text are told apart because a bracket in them opens and closes nothing.
 */
const PART = /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*\]|\((?:\?:)?|\{(\d+)(?:,(\d*))?\}|[^]/gu;

/**
 * About how many instructions a pattern compiles to, told from its text in linear time: rather more, as every character
 * counts. Compiling is what takes the time (2 µs for each), so this is asked first.
 */
export function patternSize(pattern: string): number {
  const around: number[] = [];
  let size = 0;
  let last = 0;
  for (const [part, least, most] of pattern.matchAll(PART)) {
    if (least !== undefined) {
      const times = Math.max(Number(least), Number(most ?? 0)) - 1;
      size += Math.max(0, times) * last;
      last *= Math.max(1, times + 1);
    } else if (part.startsWith("(")) {
      around.push(size);
      size = 0;
    } else if (part === ")") {
      last = size + 2;
      size = last + (around.pop() ?? 0);
    } else {
      last = part.startsWith("\\Q") ? part.length : 1;
      size += last;
    }
  }
  return around.reduce((sum, each) => sum + each, size);
}

/** Instructions that the patterns of one flow may compile to in all: a thousand usual ones. */
const MAX_PATTERN_SIZE = 50_000;

/** Why patterns are not looked at any more. */
export const PATTERNS_TOO_LARGE = `The regular expressions here are too large: in all they may have ${MAX_PATTERN_SIZE} parts, each counted as often as a repetition such as {100} repeats it`;

/** What is left for the patterns of one flow, form or expression. */
export class PatternBudget {
  #left = MAX_PATTERN_SIZE;

  /** What has been taken, also where there was not as much. */
  get used(): number {
    return MAX_PATTERN_SIZE - this.#left;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Takes a size off, and answers whether there was as much. */
  take(size: number): boolean {
    this.#left -= size;
    return !this.isSpent;
  }
}
