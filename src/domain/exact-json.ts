import { isObject, memberOf } from "./json.ts";
import type { Json } from "./json.ts";

/** Only a text with so many digits, or with such an exponent, can hold an inexact number. */
const MAY_BE_INEXACT = /\d{16}|[eE]\+?\d{3}/;
const NUMBER = /-?\d[\d.eE+-]*/g;

/**
 * Fractions are rounded as everywhere. A whole number is kept to the last digit; a number too large for a double is
 * inexact.
 */
const isExact = (number: string): boolean =>
  /^-?\d+$/.test(number) ? Number.isSafeInteger(Number(number)) : Number.isFinite(Number(number));

/**
 * Parses JSON text so that no number is silently changed: integers beyond 2^53 and numbers too large for a double become
 * text with the same digits. Throws SyntaxError as JSON.parse does.
 */
export function parseExactJson(text: string): Json {
  return parseBoth(text).exact;
}

/** Whether numbers of a request keep their digits. `but`: a member within which they stay numbers. */
export type ExactNumbers = boolean | { readonly but: string };

/**
 * The same, but a number directly within this member stays a number: where only texts are taken, one that became text by its size would be
 * accepted and a smaller one refused.
 */
export function parseExactJsonBut(member: string): (text: string) => Json {
  return (text) => {
    const { plain, exact } = parseBoth(text);
    if (exact === plain) return exact;
    const [kept, numbers] = [objectAt(exact, member), objectAt(plain, member)];
    if (kept === null || numbers === null) return exact;
    for (const [name, value] of Object.entries(numbers)) if (typeof value === "number") kept[name] = value;
    return exact;
  };
}

/** The value as JSON.parse reads it, and with every number exact; the same one if no number differs. */
function parseBoth(text: string): { readonly plain: Json; readonly exact: Json } {
  const plain = JSON.parse(text) as Json;
  const exact = exactJsonText(text);
  return { plain, exact: exact === text ? plain : (JSON.parse(exact) as Json) };
}

function objectAt(value: Json, member: string): Record<string, Json> | null {
  const inner = memberOf(value, member);
  return isObject(inner) ? inner : null;
}

/** The same JSON text with every number that is not exact as a string. Strings are passed natively: they may be megabytes of base64. */
export function exactJsonText(text: string): string {
  if (!MAY_BE_INEXACT.test(text)) return text;
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const plain = text.slice(at, quote === -1 ? text.length : quote);
    parts.push(plain.replace(NUMBER, (number) => (isExact(number) ? number : `"${number}"`)));
    if (quote === -1) break;
    at = endOfString(text, quote);
    parts.push(text.slice(quote, at));
  }
  return parts.join("");
}

/** Where the string ends that begins at `quote`: behind the next quote that is not escaped. */
function endOfString(text: string, quote: number): number {
  for (let end = quote; ;) {
    end = text.indexOf('"', end + 1);
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes++;
    if (end === -1 || escapes % 2 === 0) return end === -1 ? text.length : end + 1;
  }
}
