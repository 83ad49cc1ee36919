/** The parser state at the end of a page of JSON text: inside a string, nesting depth, incomplete escape. */
interface Place {
  readonly isText: boolean;
  readonly inString: boolean;
  readonly isEscaped: boolean;
  readonly isOpening: boolean;
  readonly depth: number;
  readonly rest: string;
}

const BEGINNING: Place = {
  isText: false,
  inString: false,
  isEscaped: false,
  isOpening: false,
  depth: 0,
  rest: "",
};
/** Nesting levels that are indented; deeper lines would consist of indentation only. */
const MAX_INDENT = 40;

export interface ReadablePage {
  readonly text: string;
  /** The parser state from which the next page continues. */
  readonly place: Place;
}

/**
 * Formats one page of a JSON text for reading: a string without quotes and escapes, anything else one field per line.
 * Pages are passed in order, each with the state in which the previous one ended; together they are the text as a
 * whole.
 */
export function readablePage(json: string, before: Place | null, isLast: boolean): ReadablePage {
  if (before === null && json.startsWith('"')) return textPage(json.slice(1), { ...BEGINNING, isText: true }, isLast);
  const place = before ?? BEGINNING;
  return place.isText ? textPage(json, place, isLast) : indented(json, place);
}

function textPage(json: string, place: Place, isLast: boolean): ReadablePage {
  const part = place.rest + json;
  // The last character of the last page is the closing quote.
  const end = isLast ? part.length - 1 : wholeEscapes(part);
  return { text: JSON.parse(`"${part.slice(0, end)}"`) as string, place: { ...place, rest: part.slice(end) } };
}

/** Length of the part of a string that ends before an incomplete escape. */
function wholeEscapes(part: string): number {
  const at = part.lastIndexOf("\\");
  if (at === -1) return part.length;
  let first = at;
  while (part[first - 1] === "\\") first -= 1;
  // After an odd number of backslashes, the last one is itself escaped and starts no escape.
  if ((at - first) % 2 === 1) return part.length;
  const length = part[at + 1] === "u" ? 6 : 2;
  return at + length > part.length ? at : part.length;
}

function indented(json: string, place: Place): ReadablePage {
  let { inString, isEscaped, isOpening, depth } = place;
  const parts: string[] = [];
  let taken = 0;
  const line = (): string => `\n${"  ".repeat(Math.min(depth, MAX_INDENT))}`;
  for (let at = 0; at < json.length; at++) {
    const character = json.charAt(at);
    if (inString) {
      if (isEscaped) isEscaped = false;
      else if (character === "\\") isEscaped = true;
      else if (character === '"') inString = false;
      continue;
    }
    const opens = character === "{" || character === "[";
    const closes = character === "}" || character === "]";
    if (closes) depth -= 1;
    // An empty object or array stays on one line.
    if (isOpening !== closes) {
      parts.push(json.slice(taken, at), line());
      taken = at;
    }
    isOpening = opens;
    if (opens) depth += 1;
    inString = character === '"';
    if (character === ":" || character === ",") {
      parts.push(json.slice(taken, at + 1), character === ":" ? " " : line());
      taken = at + 1;
    }
  }
  parts.push(json.slice(taken));
  return { text: parts.join(""), place: { ...place, inString, isEscaped, isOpening, depth } };
}
