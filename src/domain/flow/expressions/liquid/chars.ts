/** A character outside of the Basic Multilingual Plane, which JavaScript counts as two. */
const ASTRAL = /[\u{10000}-\u{10FFFF}]/u;

/** The characters (code points) of a text; cheap if each is one code unit. */
export function chars(text: string): readonly string[] {
  return ASTRAL.test(text) ? Array.from(text) : text.split("");
}
