import { withoutControls } from "./decode-text.ts";
import type { DocumentHeading } from "./protocol.ts";

/** What one pass over a page finds. */
export interface HtmlScan {
  readonly title: string | null;
  /** All that would be read on the page: blocks on lines of their own, blanks collapsed. */
  readonly text: string;
  /** In the order of the text. */
  readonly headings: readonly DocumentHeading[];
  readonly elements: number;
  /** Open elements at the deepest place; counting stops at MAX_SCAN_DEPTH. */
  readonly depth: number;
}

/** The scan looks no deeper back for a tag that closes, which keeps it linear. */
export const MAX_SCAN_DEPTH = 256;

const words = (text: string) => new Set(text.split(" "));
const VOID = words("area base br col embed hr img input link meta param source track wbr");
/** Elements whose content is no text of the page. */
const SILENT = words(
  "script style noscript template svg math iframe object canvas audio video select datalist noembed noframes",
);
const BLOCK = words(
  "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol option p pre section summary table tbody tfoot thead title tr ul",
);
const CELL = words("td th");
const HEADING = /^h([1-6])$/;
/** Elements that the next one of their kind closes, tag or no tag. */
const SELF_CLOSING = words("p li dt dd tr td th option");
const TAG_NAME = /[a-z][a-z0-9:-]{0,63}/iy;

/**
 * Reads the text of a page without building a document. Its time grows with the length of the page and with nothing
 * else, whatever the page is: nesting, unclosed quotes, comments and tags included.
 */
export function scanHtml(html: string): HtmlScan {
  const out = new TextBuilder();
  const open: string[] = [];
  let title: string | null = null;
  let elements = 0;
  let depth = 0;
  let pre = 0;
  let at = 0;
  while (at < html.length) {
    const mark = html.indexOf("<", at);
    out.text(html.slice(at, mark === -1 ? html.length : mark), pre > 0);
    if (mark === -1) break;
    const closing = html[mark + 1] === "/";
    TAG_NAME.lastIndex = mark + (closing ? 2 : 1);
    const name = TAG_NAME.exec(html)?.[0].toLowerCase();
    if (name === undefined) {
      const next = afterMarkup(html, mark);
      if (next === mark + 1) out.text("<", pre > 0);
      at = next;
      continue;
    }
    at = afterTag(html, TAG_NAME.lastIndex);
    if (name === "pre") pre = Math.max(0, pre + (closing ? -1 : 1));
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) out.endHeading();
    if (BLOCK.has(name)) out.line();
    else if (CELL.has(name)) out.tab();
    if (level !== undefined && !closing) out.startHeading(Number(level));
    if (closing) {
      const opened = open.lastIndexOf(name);
      if (opened !== -1) open.length = opened;
      continue;
    }
    elements += 1;
    if (name === "title" || SILENT.has(name)) {
      const end = closingTag(html, name, at);
      if (name === "title") title ??= collapse(decodeEntities(html.slice(at, end))) || null;
      at = end;
    } else if (!VOID.has(name)) {
      if (SELF_CLOSING.has(name) && open.at(-1) === name) open.pop();
      if (open.length < MAX_SCAN_DEPTH) open.push(name);
      depth = Math.max(depth, open.length);
    }
  }
  return { title, ...out.finish(), elements, depth };
}

/** Past a comment, a declaration or an instruction; just past the mark where it is only a character. */
function afterMarkup(html: string, mark: number): number {
  const next = html[mark + 1];
  if (next !== "!" && next !== "?" && next !== "/") return mark + 1;
  // What is never closed swallows the rest, as it does in a browser; so nothing is searched for twice.
  const end = html.startsWith("<!--", mark) ? html.indexOf("-->", mark + 4) : html.indexOf(">", mark);
  return end === -1 ? html.length : end + (html.startsWith("<!--", mark) ? 3 : 1);
}

/** Past the ">" of a tag; one inside a quoted attribute does not count. */
function afterTag(html: string, from: number): number {
  let last = "";
  for (let at = from; at < html.length; at += 1) {
    const char = html[at] as string;
    if (char === ">") return at + 1;
    if ((char === '"' || char === "'") && last === "=") {
      const end = html.indexOf(char, at + 1);
      if (end === -1) return html.length;
      at = end;
    }
    if (char > " ") last = char;
  }
  return html.length;
}

/** Where the content of an element ends that is not markup. */
function closingTag(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

function collapse(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

class TextBuilder {
  readonly #parts: string[] = [];
  /** What separates the next text from the last: nothing, a blank, a tab between cells, or a line end. */
  #gap: "" | " " | "\t" | "\n" = "";
  #length = 0;
  readonly #headings: DocumentHeading[] = [];
  #heading: { readonly level: number; start: number } | null = null;

  text(raw: string, verbatim: boolean): void {
    if (raw === "") return;
    const text = decodeEntities(raw);
    if (verbatim) return this.#push(text);
    if (/^\s/.test(text) && this.#gap === "") this.#gap = " ";
    const collapsed = collapse(text);
    if (collapsed === "") return;
    this.#push(collapsed);
    if (/\s$/.test(text)) this.#gap = " ";
  }

  line(): void {
    this.#gap = "\n";
  }

  tab(): void {
    if (this.#gap !== "\n") this.#gap = "\t";
  }

  startHeading(level: number): void {
    this.#heading = { level, start: -1 };
  }

  endHeading(): void {
    const { level, start } = this.#heading ?? { level: 0, start: -1 };
    if (start !== -1) this.#headings.push({ level, char_start: start, char_end: this.#length });
    this.#heading = null;
  }

  #push(raw: string): void {
    // Here, so that places in the text stay what they are.
    const text = withoutControls(raw);
    if (text === "") return;
    if (this.#parts.length > 0) {
      this.#parts.push(this.#gap);
      this.#length += this.#gap.length;
    }
    if (this.#heading?.start === -1) this.#heading.start = this.#length;
    this.#parts.push(text);
    this.#length += text.length;
    this.#gap = "";
  }

  finish(): { text: string; headings: DocumentHeading[] } {
    this.endHeading();
    const whole = this.#parts.join("");
    const text = whole.trim();
    const leading = whole.length - whole.trimStart().length;
    const inside = (at: number): number => Math.min(Math.max(0, at - leading), text.length);
    const headings = this.#headings.map(({ level, char_start, char_end }) => ({
      level,
      char_start: inside(char_start),
      char_end: inside(char_end),
    }));
    return { text, headings };
  }
}

const LATIN1 =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...LATIN1.split(" ").map((name, index): [string, string] => [name, String.fromCharCode(160 + index)]),
  ...Object.entries({
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    ndash: "–",
    mdash: "—",
    lsquo: "‘",
    rsquo: "’",
    sbquo: "‚",
    ldquo: "“",
    rdquo: "”",
    bdquo: "„",
    bull: "•",
    hellip: "…",
    euro: "€",
    trade: "™",
    larr: "←",
    rarr: "→",
    minus: "−",
    ensp: " ",
    emsp: " ",
    thinsp: " ",
    zwnj: "",
    zwj: "",
    lrm: "",
    rlm: "",
  }),
]);

/** Numeric references, and the names that pages use; any other stays as it is written. */
function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,7}));?/gi, (whole, decimal, hex, name) => {
    if (typeof name === "string") return ENTITIES.get(name) ?? whole;
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? "\ufffd" : String.fromCodePoint(code);
  });
}
