import { RE2JS } from "re2js";
import { cachedByText, CHARS_PER_INSTRUCTION } from "./cache.ts";

/** Longest pattern. The compiled size is limited too, because counted repetitions multiply it. */
const MAX_PATTERN_CHARS = 2_000;
const MAX_INSTRUCTIONS = 5_000;
const TOO_LARGE = "The regular expression is too large: reduce its counted repetitions";

/** A compiled regular expression; matching any pattern takes time linear in the text. */
export interface Regex {
  /** Size of the compiled program; matching costs at most this times the characters of the text. */
  readonly instructions: number;
  /** Whether the pattern is found anywhere in `text`. */
  test(text: string): boolean;
}

export type CompiledRegex =
  | { readonly ok: true; readonly regex: Regex }
  | { readonly ok: false; readonly message: string };

const FLAGS: ReadonlyMap<string, number> = new Map([
  ["i", RE2JS.CASE_INSENSITIVE],
  ["m", RE2JS.MULTILINE],
  ["s", RE2JS.DOTALL],
  // Texts are always matched by code point.
  ["u", 0],
]);

const describe = (error: unknown): string => {
  const reason =
    error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "it cannot be compiled";
  return `Not a valid regular expression: ${reason} (RE2 syntax: no look-around and no back-references)`;
};

const compile = (key: string): CompiledRegex => {
  const separator = key.indexOf("/");
  const flags = key.slice(0, separator);
  const source = key.slice(separator + 1);
  if (source.length > MAX_PATTERN_CHARS) {
    return { ok: false, message: `A regular expression can have at most ${MAX_PATTERN_CHARS} characters` };
  }
  let bits = 0;
  for (const flag of flags) {
    const bit = FLAGS.get(flag);
    if (bit === undefined)
      return { ok: false, message: `Unknown regular expression flag "${flag}" (known: i, m, s, u)` };
    bits |= bit;
  }
  try {
    const program = RE2JS.compile(RE2JS.translateRegExp(source), bits);
    const instructions = program.programSize();
    if (instructions > MAX_INSTRUCTIONS) {
      return { ok: false, message: TOO_LARGE };
    }
    return { ok: true, regex: { instructions, test: (text) => program.test(text) } };
  } catch (error) {
    return { ok: false, message: describe(error) };
  }
};

const compileCached = cachedByText(
  compile,
  (text, made) => text.length + (made.ok ? made.regex.instructions * CHARS_PER_INSTRUCTION : 0),
);

/**
 * Compiles a user's regular expression with RE2, so that no pattern takes exponential time. Flags: `i`, `m`, `s` and `u` (without effect,
 * since text is always matched by code point). JavaScript syntax that RE2 only spells differently (`\/`, `\u0041`, `(?<name>...)`) is
 * translated.
 */
export const compileRegex = (source: string, flags = ""): CompiledRegex => compileCached(`${flags}/${source}`);
