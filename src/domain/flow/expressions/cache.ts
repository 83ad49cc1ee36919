/** At most this many texts are kept by one cache, and at most this many characters of them or what is as much. */
const MAX_ENTRIES = 512;
const MAX_CHARS = 2_000_000;

/** What an instruction of a compiled pattern, some 400 bytes, and a tag of a parsed template count as. */
export const CHARS_PER_INSTRUCTION = 25;
export const CHARS_PER_MARK = 25;

/**
 * Remembers what `make` made of a text, for the texts used last. It changes how long a call takes and nothing else, so
 * it is safe in a workflow. `weigh` tells, in characters, what is kept of a text where that is more than the text.
 */
export const cachedByText = <T>(
  make: (text: string) => T,
  weigh: (text: string, made: T) => number = (text) => text.length,
): ((text: string) => T) => {
  const kept = new Map<string, { readonly made: T; readonly chars: number }>();
  let chars = 0;
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known.made;
    const made = make(text);
    const entry = { made, chars: weigh(text, made) };
    if (entry.chars > MAX_CHARS / 4) return made;
    chars += entry.chars;
    kept.set(text, entry);
    for (const [oldest, { chars: gone }] of kept) {
      if (kept.size <= MAX_ENTRIES && chars <= MAX_CHARS) break;
      kept.delete(oldest);
      chars -= gone;
    }
    return made;
  };
};
