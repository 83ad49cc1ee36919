/** Limits of one cache: its entries, and their total size in characters. */
const MAX_ENTRIES = 512;
const MAX_CHARS = 2_000_000;

/** What one instruction of a compiled pattern (about 400 bytes) and one tag of a parsed template count for in a cache, in characters. */
export const CHARS_PER_INSTRUCTION = 25;
export const CHARS_PER_MARK = 25;

/**
 * Caches the result of `make` for the most recently used texts. The cache affects only how long a call takes, so it is safe in a workflow.
 * `weigh` returns the size of a cached result in characters, if it is larger than its text.
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
