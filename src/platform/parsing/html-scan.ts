import { Tokenizer } from "htmlparser2";
import { withoutControls } from "./decode-text.ts";
import { PropertyCollector } from "./properties.ts";
import type { DocumentProperties } from "./properties.ts";
import type { DocumentHeading } from "./protocol.ts";

/** What one pass over a page finds. */
export interface HtmlScan {
  readonly title: string | null;
  /** What its `<meta>` elements say. */
  readonly properties: DocumentProperties;
  /** The readable text of the page: blocks on lines of their own, blanks collapsed. */
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
/** Elements that end a paragraph, whether or not it is closed. */
const AFTER_PARAGRAPH = words(
  "address article aside blockquote details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr main menu nav ol p pre section table ul",
);
/** Elements that scripts show as soon as the page has been loaded. */
const ROOTS = words("html body");
/** Elements that the next one of their kind closes, tag or no tag. */
const SELF_CLOSING = words("p li dt dd tr td th option");
/** What is read of a tag. */
const ATTRIBUTES = words("hidden style lang name property itemprop http-equiv content");
/** What is read of an attribute. */
const MAX_ATTRIBUTE = 4096;
/** No name that means something here is longer. */
const MAX_NAME = 64;

export interface ScanOptions {
  /** Each row of a table is a line, whatever its cells hold. For tables that are data: on pages they often are layout. */
  readonly rows?: boolean;
}

/**
 * Reads the text of a page without building a document. Its time grows with the length of the page and with nothing
 * else, whatever the page is: nesting, unclosed quotes, comments and tags included. Built on the tokenizer alone, since
 * the parser of the same package searches all open elements for each tag that closes, which takes quadratic time.
 */
export function scanHtml(html: string, { rows = false }: ScanOptions = {}): HtmlScan {
  const out = new TextBuilder();
  const open: string[] = [];
  const properties = new PropertyCollector();
  /** How many elements are open within the outermost one that is hidden. */
  let hidden = Infinity;
  /** The open title or SILENT element: only the tag that closes it counts. */
  let inside: string | null = null;
  let cells = 0;
  let inRow = 0;
  let title = "";
  let titlePart = "";
  let elements = 0;
  let depth = 0;
  let pre = 0;
  let tag = "";
  let attribute = "";
  let value = "";
  const attributes = new Map<string, string>();

  const nameAt = (start: number, end: number) => html.slice(start, Math.min(end, start + MAX_NAME)).toLowerCase();

  function readText(text: string): void {
    if (inside === "title") titlePart += text;
    else if (inside === null && open.length < hidden) out.text(text, pre > 0);
  }

  function readValue(text: string): void {
    if (value.length < MAX_ATTRIBUTE) value += text.slice(0, MAX_ATTRIBUTE);
  }

  /** What a tag does to the text around it. */
  function breakText(name: string, closing: boolean): void {
    if (name === "pre") pre = Math.max(0, pre + (closing ? -1 : 1));
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) out.endHeading();
    if (rows && cells > 0 && BLOCK.has(name) && name !== "tr" && name !== "table") out.space();
    else if (BLOCK.has(name)) out.line();
    else if (CELL.has(name) && !rows) out.tab();
    if (rows && name === "tr") inRow = 0;
    if (rows && CELL.has(name)) {
      cells += closing ? -1 : 1;
      if (!closing && inRow++ > 0) out.nextCell();
    }
    if (level !== undefined && !closing) out.startHeading(Number(level));
  }

  function openTag(selfClosing: boolean): void {
    if (inside !== null) return;
    breakText(tag, false);
    elements += 1;
    if (tag === "meta" || tag === "html") readProperties(attributes, properties);
    if (tag === "title" || SILENT.has(tag)) {
      // Elsewhere the slash means nothing in HTML; a chapter of a book is XML and may have an empty title.
      inside = selfClosing ? null : tag;
    } else if (!VOID.has(tag)) {
      if (SELF_CLOSING.has(tag) && open.at(-1) === tag) open.pop();
      else if (AFTER_PARAGRAPH.has(tag) && open.at(-1) === "p") open.pop();
      if (open.length < hidden) hidden = Infinity;
      if (open.length < MAX_SCAN_DEPTH) {
        open.push(tag);
        if (hidden === Infinity && !ROOTS.has(tag) && isHidden(attributes)) hidden = open.length;
      }
      depth = Math.max(depth, open.length);
    }
  }

  function closeTag(name: string): void {
    if (inside !== null && inside !== name) return;
    inside = null;
    if (name === "title") {
      title ||= collapse(titlePart);
      titlePart = "";
    }
    breakText(name, true);
    const opened = open.lastIndexOf(name);
    if (opened !== -1) open.length = opened;
  }

  const tokenizer = new Tokenizer(
    { xmlMode: false, decodeEntities: true },
    {
      ontext: (start, end) => readText(html.slice(start, end)),
      ontextentity: (code) => readText(String.fromCodePoint(code)),
      onopentagname(start, end) {
        tag = nameAt(start, end);
        attributes.clear();
      },
      onattribname(start, end) {
        attribute = nameAt(start, end);
        value = "";
      },
      onattribdata: (start, end) => readValue(html.slice(start, end)),
      onattribentity: (code) => readValue(String.fromCodePoint(code)),
      onattribend() {
        // If several have one name, the first counts.
        if (ATTRIBUTES.has(attribute) && !attributes.has(attribute)) attributes.set(attribute, value);
      },
      onopentagend: () => openTag(false),
      onselfclosingtag: () => openTag(true),
      onclosetag: (start, end) => closeTag(nameAt(start, end)),
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onprocessinginstruction: nothing,
      onend: nothing,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return {
    title: title || collapse(titlePart) || null,
    properties: properties.collected(),
    ...out.finish(),
    elements,
    depth,
  };
}

const nothing = (): void => undefined;

/** Whether nobody sees what is in an element, as far as its own tag says. */
function isHidden(attributes: ReadonlyMap<string, string>): boolean {
  const hidden = attributes.get("hidden");
  if (hidden !== undefined && hidden.toLowerCase() !== "until-found") return true;
  return (attributes.get("style") ?? "").split(";").some((each) => {
    const [property = "", value = ""] = each.toLowerCase().split(":");
    return HIDING.has(`${property.trim()}:${value.replace("!important", "").trim()}`);
  });
}

const HIDING = new Set(["display:none", "visibility:hidden"]);

function readProperties(attributes: ReadonlyMap<string, string>, properties: PropertyCollector): void {
  properties.add("language", attributes.get("lang"));
  const name = attributes.get("name") ?? attributes.get("property") ?? attributes.get("itemprop");
  properties.add(name ?? attributes.get("http-equiv") ?? "", attributes.get("content"));
}

function collapse(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

class TextBuilder {
  readonly #parts: string[] = [];
  /** What separates the next text from the last: nothing, a blank, a tab between cells, or a line end. */
  #gap = "";
  #length = 0;
  readonly #headings: DocumentHeading[] = [];
  #heading: { readonly level: number; start: number } | null = null;

  text(text: string, verbatim: boolean): void {
    if (text === "") return;
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

  space(): void {
    if (this.#gap === "") this.#gap = " ";
  }

  /** As tab, but cells without text count, so that those below each other stay so. */
  nextCell(): void {
    this.#gap = this.#gap === " " ? "\t" : `${this.#gap}\t`;
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
