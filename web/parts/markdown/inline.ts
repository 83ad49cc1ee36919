/** A part of a line: text, or an element with parts inside. */
export type Inline =
  | string
  | { readonly kind: "code"; readonly text: string }
  /** The number of a source, written `[3]`. */
  | { readonly kind: "cite"; readonly number: number }
  | { readonly kind: "link"; readonly href: string; readonly children: readonly Inline[] }
  | { readonly kind: "em" | "strong" | "strike"; readonly children: readonly Inline[] };

type Marker = "*" | "**" | "_" | "__" | "~~" | "[";
interface Opener {
  readonly marker: Marker;
  /** Place of its text in the parts; it stays text unless its closing marker comes. */
  readonly index: number;
}

const KINDS = { "*": "em", _: "em", "**": "strong", __: "strong", "~~": "strike" } as const;
/** Elements inside each other. More would exceed what browsers draw. */
const MAX_DEPTH = 12;
const MAX_URL = 2000;
const SCHEMES: readonly string[] = ["http:", "https:", "mailto:"];
const SPECIAL = /[\\`*_~[\]!<h]/g;
const URL_START = /https?:\/\/[^\s<>"`]{1,2000}/y;
const BRACED_URL = /<(https?:\/\/[^\s<>"`]{1,2000})>/y;
const CITE = /\[(\d{1,3})\](?!\()/y;
const TARGET =
  /\(<?([^\s<>()]{0,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,200}){0,2})>?(?:[ \t]{1,9}"[^"\n]{0,200}")?\)/y;

/** The address of a link; null unless it is a web or mail address. Such a link stays text. */
export function safeAddress(text: string): string | null {
  if (text.length > MAX_URL || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return SCHEMES.includes(protocol) ? href : null;
}

/**
 * The parts of a text in Markdown: emphasis, code, links and numbers of sources. Takes time in proportion to the length of the text,
 * whatever is in it: the place after each character is only ever read forwards, and closed elements are not read again.
 */
export function inlineOf(text: string): readonly Inline[] {
  const parts: Inline[] = [];
  const depths = new Map<Inline, number>();
  const openers: Opener[] = [];
  const count = new Map<Marker, number>();
  const ticks = backticksOf(text);
  /** Brackets before this part cannot start a link, because a link must not contain another. */
  let bracketsFrom = 0;
  let from = 0;

  const say = (until: number): void => {
    if (until > from) parts.push(text.slice(from, until));
  };
  const open = (marker: Marker, shown: string): void => {
    openers.push({ marker, index: parts.length });
    count.set(marker, (count.get(marker) ?? 0) + 1);
    parts.push(shown);
  };
  const forget = (): void => {
    openers.length = 0;
    count.clear();
  };
  /** Forgets all openers down to the last of these markers, and returns that one. */
  const close = (...markers: readonly Marker[]): Opener | null => {
    if (markers.every((marker) => (count.get(marker) ?? 0) === 0)) return null;
    for (let last = openers.pop(); last; last = openers.pop()) {
      const isDead = last.marker === "[" && last.index < bracketsFrom;
      if (!isDead) count.set(last.marker, (count.get(last.marker) ?? 0) - 1);
      if (!isDead && markers.includes(last.marker)) return last;
    }
    return null;
  };
  const wrap = ({ index }: Opener, element: (children: readonly Inline[]) => Inline, end: string): boolean => {
    const depth = 1 + parts.slice(index + 1).reduce((most, part) => Math.max(most, depths.get(part) ?? 0), 0);
    if (depth > MAX_DEPTH || index + 1 === parts.length) {
      parts.push(end);
      // Whatever is still open would be deeper.
      if (depth > MAX_DEPTH) forget();
      return false;
    }
    const made = element(parts.splice(index + 1));
    parts[index] = made;
    depths.set(made, depth);
    return true;
  };

  SPECIAL.lastIndex = 0;
  for (let at = next(text, 0); at < text.length; at = next(text, at)) {
    const character = text[at] as string;
    let end = at + 1;
    switch (character) {
      case "\\":
        if (/[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
          say(at);
          from = at + 1;
          end = at + 2;
        }
        break;
      case "`": {
        const run = runLength(text, at);
        const stop = ticks.after(at + run, run);
        end = at + run;
        if (stop === null) break;
        say(at);
        parts.push({ kind: "code", text: codeText(text.slice(at + run, stop)) });
        from = end = stop + run;
        break;
      }
      case "*":
      case "_":
      case "~": {
        const run = runLength(text, at);
        end = at + run;
        const needed = character === "~" ? run === 2 : run <= 3;
        if (!needed) break;
        say(at);
        from = end;
        emphasis(character, run, at);
        break;
      }
      case "[":
      case "!": {
        const isImage = character === "!";
        if (isImage && text[at + 1] !== "[") break;
        const cited = isImage ? null : matchAt(CITE, text, at);
        say(at);
        if (cited) {
          parts.push({ kind: "cite", number: Number(cited[1]) });
          from = end = at + cited[0].length;
        } else {
          open("[", isImage ? "![" : "[");
          from = end = at + (isImage ? 2 : 1);
        }
        break;
      }
      case "]": {
        const target = text[at + 1] === "(" && (count.get("[") ?? 0) > 0 ? matchAt(TARGET, text, at + 1) : null;
        const href = target && safeAddress(target[1] ?? "");
        const opener = target && href !== null ? close("[") : null;
        if (!target || href === null || !opener) break;
        say(at);
        from = end = at + 1 + target[0].length;
        if (wrap(opener, (children) => ({ kind: "link", href, children }), text.slice(at, end))) {
          bracketsFrom = parts.length;
          count.set("[", 0);
        }
        break;
      }
      default: {
        const braced = character === "<" ? matchAt(BRACED_URL, text, at) : null;
        const bare = character === "h" && !isWord(text[at - 1]) ? matchAt(URL_START, text, at) : null;
        const address = braced?.[1] ?? (bare && withoutEnd(bare[0]));
        const href = address == null ? null : safeAddress(address);
        if (address == null || href === null) break;
        say(at);
        parts.push({ kind: "link", href, children: [address] });
        from = end = at + (braced ? braced[0].length : address.length);
      }
    }
    at = end;
  }
  say(text.length);
  return parts;

  function emphasis(character: "*" | "_" | "~", length: number, at: number): void {
    const [before, after] = [text[at - 1], text[at + length]];
    const isUnder = character === "_";
    const mayClose = !isSpace(before) && !(isUnder && isWord(after));
    const mayOpen = !isSpace(after) && !(isUnder && isWord(before));
    const single = character === "~" ? null : character;
    const double = `${character}${character}` as "**" | "__" | "~~";
    let left = length;
    while (left > 0 && mayClose) {
      const opener = close(...(left > 1 ? [double] : []), ...(single ? [single] : []));
      if (!opener) break;
      const { marker } = opener;
      left -= marker.length;
      wrap(opener, (children) => ({ kind: KINDS[marker as keyof typeof KINDS], children }), marker);
    }
    while (left > 0 && mayOpen) {
      const marker = left > 1 || single === null ? double : single;
      open(marker, marker.slice(0, left));
      left -= marker.length;
    }
    if (left > 0) parts.push(character.repeat(left));
  }
}

/** The place of the next character that may begin something. */
function next(text: string, at: number): number {
  SPECIAL.lastIndex = at;
  return SPECIAL.exec(text)?.index ?? text.length;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function runLength(text: string, at: number): number {
  let end = at + 1;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

const isSpace = (character: string | undefined): boolean => character === undefined || /\s/.test(character);
const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);

/** Runs of backticks by their length: a piece of code ends at the next run of the same length. */
function backticksOf(text: string): { after(at: number, length: number): number | null } {
  let runs: Map<number, number[]> | undefined;
  const read = (): Map<number, number[]> => {
    const found = new Map<number, number[]>();
    for (let at = text.indexOf("`"); at !== -1;) {
      const length = runLength(text, at);
      const places = found.get(length);
      if (places) places.push(at);
      else found.set(length, [at]);
      at = text.indexOf("`", at + length);
    }
    // Places are taken from the end of a list, in the order of the text.
    for (const places of found.values()) places.reverse();
    return found;
  };
  return {
    after(at, length) {
      runs ??= read();
      const places = runs.get(length);
      while (places?.length) {
        const place = places.at(-1) as number;
        if (place >= at) return place;
        places.pop();
      }
      return null;
    },
  };
}

function codeText(text: string): string {
  const line = text.replaceAll("\n", " ");
  const isPadded = line.startsWith(" ") && line.endsWith(" ") && line.trim() !== "";
  return isPadded ? line.slice(1, -1) : line;
}

/** A bare address without the punctuation after it. */
function withoutEnd(address: string): string {
  let end = address.length;
  while (end > 0) {
    const last = address[end - 1] as string;
    const isBracket = last === ")" && !address.slice(0, end).includes("(");
    if (!isBracket && !".,;:!?'*_~]}".includes(last)) break;
    end -= 1;
  }
  return address.slice(0, end);
}
