import { StreamLanguage, type StringStream } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

export type CodeLanguage = "liquid" | "cel" | "javascript" | "json";

interface LiquidState {
  /** What the position is inside of. */
  inside: "text" | "output" | "tag" | "raw" | "comment";
  /** What the next word is. */
  next: "tag" | "filter" | "value";
}

const WORDS = /^[A-Za-z_][\w-]*/;
const KEYWORDS: ReadonlySet<string> = new Set(["in", "and", "or", "contains", "with", "reversed", "limit", "offset"]);
const CONSTANTS: ReadonlySet<string> = new Set(["true", "false", "nil", "null", "empty", "blank"]);

/** Names of the blocks whose content is not a template. */
const VERBATIM: Readonly<Record<string, "raw" | "comment">> = { raw: "raw", comment: "comment" };

const liquid = StreamLanguage.define<LiquidState>({
  name: "liquid",
  startState: () => ({ inside: "text", next: "value" }),
  token(stream, state) {
    if (state.inside === "text") return textToken(stream, state);
    if (state.inside === "raw" || state.inside === "comment") return verbatimToken(stream, state, state.inside);
    if (stream.eatSpace()) return null;
    if (stream.match(state.inside === "output" ? /^-?\}\}/ : /^-?%\}/)) {
      const verbatim = state.next === "value" ? undefined : VERBATIM[state.next];
      state.inside = verbatim ?? "text";
      return "meta";
    }
    return valueToken(stream, state);
  },
});

function textToken(stream: StringStream, state: LiquidState): string | null {
  if (stream.match(/^\{\{-?/)) {
    state.inside = "output";
    state.next = "value";
    return "meta";
  }
  const verbatim = /^\{%-?\s*(raw|comment)\s*-?%\}/.exec(stream.string.slice(stream.pos));
  if (verbatim) {
    stream.pos += verbatim[0].length;
    state.inside = VERBATIM[verbatim[1] ?? ""] ?? "text";
    return "keyword";
  }
  if (stream.match(/^\{%-?/)) {
    state.inside = "tag";
    state.next = "tag";
    return "meta";
  }
  stream.next();
  while (!stream.eol() && !stream.match(/^\{[{%]/, false)) stream.next();
  return null;
}

function verbatimToken(stream: StringStream, state: LiquidState, inside: "raw" | "comment"): string | null {
  const end = new RegExp(`^\\{%-?\\s*end${inside}\\s*-?%\\}`);
  if (stream.match(end)) {
    state.inside = "text";
    return "keyword";
  }
  stream.next();
  while (!stream.eol() && !stream.match("{%", false)) stream.next();
  return inside === "comment" ? "comment" : null;
}

function valueToken(stream: StringStream, state: LiquidState): string | null {
  const { next } = state;
  state.next = "value";
  if (stream.match(/^"[^"]*"?|^'[^']*'?/)) return "string";
  if (stream.match(/^-?\d+(\.\d+)?/)) return "number";
  if (stream.eat("|")) {
    state.next = "filter";
    return "operator";
  }
  if (stream.match(/^\.[A-Za-z_][\w-]*/)) return "propertyName";
  const word = stream.match(WORDS);
  if (word && typeof word === "object") {
    if (next === "tag") return "keyword";
    if (next === "filter") return "labelName";
    if (CONSTANTS.has(word[0])) return "atom";
    return KEYWORDS.has(word[0]) ? "keyword" : "variableName";
  }
  stream.next();
  return "punctuation";
}

const cel = StreamLanguage.define<{ quote: string | null }>({
  name: "cel",
  startState: () => ({ quote: null }),
  languageData: { closeBrackets: { brackets: ["(", "[", "{", '"', "'"] } },
  token(stream, state) {
    if (state.quote !== null) return quotedToken(stream, state, state.quote);
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    const open = stream.match(/^[rRbB]{0,2}("""|'''|"|')/);
    if (open && typeof open === "object") {
      state.quote = open[1] ?? '"';
      return quotedToken(stream, state, state.quote);
    }
    if (stream.match(/^(0x[\da-f]+|\d+(\.\d+)?(e[+-]?\d+)?)u?/i)) return "number";
    if (stream.match(/^\.[A-Za-z_]\w*/)) return stream.match(/^\s*\(/, false) ? "labelName" : "propertyName";
    const word = stream.match(/^[A-Za-z_]\w*/);
    if (word && typeof word === "object") {
      if (["true", "false", "null"].includes(word[0])) return "atom";
      if (word[0] === "in") return "keyword";
      return stream.match(/^\s*\(/, false) ? "labelName" : "variableName";
    }
    if (stream.match(/^(&&|\|\||[=!<>]=|[-+*/%<>!?:])/)) return "operator";
    stream.next();
    return "punctuation";
  },
});

function quotedToken(stream: StringStream, state: { quote: string | null }, quote: string): string {
  while (!stream.eol()) {
    if (stream.match(quote)) {
      state.quote = null;
      return "string";
    }
    if (stream.next() === "\\") stream.next();
  }
  // Only a triple quote may go over several lines.
  if (quote.length === 1) state.quote = null;
  return "string";
}

/** The support of a language. The larger grammars are fetched when a field first needs one. */
export async function languageOf(language: CodeLanguage): Promise<Extension> {
  switch (language) {
    case "liquid":
      return liquid;
    case "cel":
      return cel;
    case "javascript":
      return (await import("@codemirror/lang-javascript")).javascript();
    case "json":
      return (await import("@codemirror/lang-json")).json();
  }
}
