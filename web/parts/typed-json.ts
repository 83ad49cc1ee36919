/** The value of typed JSON, or the reason why it cannot be sent as typed. */
export type Typed = { readonly value: unknown } | { readonly fault: string };

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?$/i;
/** Tokens of a JSON text: punctuation, strings, and everything else. */
const TOKEN = /([{}[\],:])|("(?:[^"\\]|\\.)*")|[^\s{}[\],:"]+/g;

/** Parses typed JSON. It rejects what parsing would change: numbers that lose digits, and names that occur twice in an object. */
export function typedJson(text: string): Typed {
  try {
    const value = JSON.parse(text) as unknown;
    const fault = faultIn(text);
    return fault === null ? { value } : { fault };
  } catch {
    return { fault: "Enter valid JSON." };
  }
}

/** A typed number: its value, the text itself if it is not a number, or the reason why it cannot be sent. */
export function typedNumber(text: string): Typed {
  const typed = text.trim();
  if (!NUMBER.test(typed)) return { value: text };
  return keepsDigits(typed) ? { value: Number(typed) } : { fault: losesDigits(typed) };
}

function faultIn(text: string): string | null {
  // One entry per open object or list: the names seen so far, and the current position in it.
  const open: Array<{ readonly names: Set<string> | null; place: string | number }> = [];
  let isName = false;
  for (const [token, sign, string] of text.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (sign === "{" || sign === "[")
      open.push({ names: sign === "{" ? new Set() : null, place: sign === "{" ? "" : 0 });
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign === "," && typeof inner?.place === "number") inner.place += 1;
    else if (string !== undefined && isName && inner?.names) {
      inner.place = JSON.parse(string) as string;
      if (inner.names.has(inner.place))
        return `${at(open)} appears twice; only one of the values would be sent. Remove one.`;
      inner.names.add(inner.place);
    } else if (sign === undefined && string === undefined && NUMBER.test(token) && !keepsDigits(token))
      return losesDigits(token, at(open));
    isName = sign === "{" || (sign === "," && open.at(-1)?.names != null);
  }
  return null;
}

const at = (open: ReadonlyArray<{ readonly place: string | number }>): string =>
  open
    .map(({ place }, index) => (typeof place === "number" ? `[${place}]` : index === 0 ? place : `.${place}`))
    .join("");

const losesDigits = (number: string, place = ""): string =>
  `${place === "" ? "The" : `${place}: the`} number ${number.slice(0, 40)} would lose digits. If a string is accepted, put it in quotes.`;

/** Whether a number keeps all its digits when it is parsed. */
function keepsDigits(text: string): boolean {
  const value = Number(text);
  return Number.isFinite(value) && decimal(text) === decimal(String(value));
}

/** The significant digits of a number and its power of ten, for comparison. */
function decimal(number: string): string {
  const [, mantissa = "", exponent = "0"] = NUMBER.exec(number) ?? [];
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end -= 1;
  return end === 0 ? "0" : `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
