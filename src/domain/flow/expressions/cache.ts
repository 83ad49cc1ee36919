/** At most this many texts are kept by one cache, and at most this many characters of them. */
const MAX_ENTRIES = 512;
const MAX_CHARS = 2_000_000;

/**
 * Remembers what `make` made of a text, for the texts used last. It changes how long a call takes and nothing else, so
 * it is safe in a workflow.
 */
export const cachedByText = <T>(make: (text: string) => T): ((text: string) => T) => {
  const kept = new Map<string, T>();
  let chars = 0;
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const made = make(text);
    if (text.length > MAX_CHARS / 4) return made;
    chars += text.length;
    kept.set(text, made);
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_ENTRIES && chars <= MAX_CHARS) break;
      kept.delete(oldest);
      chars -= oldest.length;
    }
    return made;
  };
};
