import { CelSyntaxError, type Position } from "./ast.ts";
import { readString } from "./strings.ts";

export type Token =
  | { readonly kind: "int" | "uint"; readonly at: Position; readonly value: bigint }
  | { readonly kind: "double"; readonly at: Position; readonly value: number }
  | { readonly kind: "string"; readonly at: Position; readonly value: string }
  | { readonly kind: "bytes"; readonly at: Position; readonly value: Uint8Array }
  | { readonly kind: "name" | "quoted-name" | "operator" | "end"; readonly at: Position; readonly value: string };

const NUMBER = /0[xX][0-9a-fA-F]+[uU]?|(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const QUOTED_NAME = /`([A-Za-z0-9_.\-/ ]+)`/y;
const STRING_START = /(?:[rR][bB]?|[bB][rR]?)?(?:"|')/y;
const OPERATOR = /&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}]/y;
const BLANK = /(?:[ \t\r\n\f]|\/\/[^\n]*(?:\n|$))+/y;

const match = (pattern: RegExp, source: string, at: number): string | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
};

const numberToken = (text: string, at: Position): Token => {
  if (/^0[xX]/.test(text) || /^\d+[uU]?$/.test(text)) {
    const unsigned = /[uU]$/.test(text);
    return { kind: unsigned ? "uint" : "int", at, value: BigInt(unsigned ? text.slice(0, -1) : text) };
  }
  const value = Number(text);
  if (!Number.isFinite(value)) throw new CelSyntaxError(`The number ${text} is too large`, at);
  return { kind: "double", at, value };
};

/** The tokens of a CEL source, the last one of kind "end". Throws CelSyntaxError. */
export const tokenize = (source: string): Token[] => {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    at += match(BLANK, source, at)?.length ?? 0;
    if (at >= source.length) {
      tokens.push({ kind: "end", at: source.length, value: "the end of the expression" });
      return tokens;
    }
    let text = match(STRING_START, source, at);
    if (text !== undefined) {
      const { end, value } = readString(source, at, text);
      tokens.push(typeof value === "string" ? { kind: "string", at, value } : { kind: "bytes", at, value });
      at = end;
      continue;
    }
    if ((text = match(NUMBER, source, at)) !== undefined) tokens.push(numberToken(text, at));
    else if ((text = match(NAME, source, at)) !== undefined) tokens.push({ kind: "name", at, value: text });
    else if ((text = match(QUOTED_NAME, source, at)) !== undefined) {
      tokens.push({ kind: "quoted-name", at, value: text.slice(1, -1) });
    } else if ((text = match(OPERATOR, source, at)) !== undefined) tokens.push({ kind: "operator", at, value: text });
    else throw new CelSyntaxError(`Unexpected character ${JSON.stringify(source.charAt(at))}`, at);
    at += text.length;
  }
};
