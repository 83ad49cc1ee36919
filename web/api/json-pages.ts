/** Where a page of JSON text leaves off: within a string, so deep, with an escape that the next page ends. */
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
/** Levels that are indented: a deeper one would be all indent. */
const MAX_INDENT = 40;

export interface ReadablePage {
  readonly text: string;
  /** Where the next page goes on. */
  readonly place: Place;
}

/**
 * A page of a JSON text as people read it: a string without quotes and escapes, anything else a member a line. Pages are given in
 * their order, each with the place where the one before it has left off; together they are the text as a whole would be.
 */
export function readablePage(json: string, before: Place | null, isLast: boolean): ReadablePage {
  if (before === null && json.startsWith('"')) return textPage(json.slice(1), { ...BEGINNING, isText: true }, isLast);
  const place = before ?? BEGINNING;
  return place.isText ? textPage(json, place, isLast) : indented(json, place);
}

function textPage(json: string, place: Place, isLast: boolean): ReadablePage {
  const part = place.rest + json;
  // The last character of all is the closing quote.
  const end = isLast ? part.length - 1 : wholeEscapes(part);
  return { text: JSON.parse(`"${part.slice(0, end)}"`) as string, place: { ...place, rest: part.slice(end) } };
}

/** How much of a part of a string has no escape that goes on behind its end. */
function wholeEscapes(part: string): number {
  const at = part.lastIndexOf("\\");
  if (at === -1) return part.length;
  let first = at;
  while (part[first - 1] === "\\") first -= 1;
  // An even number before it are escapes themselves.
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
    // What is empty stays on its line.
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
