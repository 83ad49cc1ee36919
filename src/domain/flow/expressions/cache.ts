/** Bounds of one cache: entries, and their total size in characters. */
const MAX_ENTRIES = 512;
const MAX_CHARS = 2_000_000;

/** Size in characters of an instruction of a compiled pattern (some 400 bytes) and of a tag of a parsed template. */
export const CHARS_PER_INSTRUCTION = 25;
export const CHARS_PER_MARK = 25;

/**
 * Caches the result of `make` for the most recently used texts. It affects only the duration of a call, so
 * it is safe in a workflow. `weigh` gives the size of a cached result in characters, when it is larger than its text.
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
