/**
 * What a pattern is made of: quoted text, an escape, a class, the beginning of a group, a counted repetition, or else one
 * character. Classes and quoted text are matched separately because brackets inside them are literal; one that is never
 * closed takes all the rest, so that nothing is looked through twice.
 */
const PART =
  /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?(?:\[:\^?\w{1,20}:\]|\\[^]?|[^\]\\])*(?:\]|$)|\((?:\?:)?|\{(\d+)(?:,(\d*))?\}|[^]/gu;

/**
 * Estimates how many instructions a pattern compiles to, in linear time: rather too many, as every character
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
