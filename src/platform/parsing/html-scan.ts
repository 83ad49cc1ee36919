import { Tokenizer } from "htmlparser2";
import { withoutControls } from "./decode-text.ts";
import { PropertyCollector } from "./properties.ts";
import type { DocumentHeading, ReadDocument } from "./protocol.ts";

/**
 * The result of one pass over a page: its readable text has blocks on lines of their own, and blanks collapsed; its properties are the
 * content of its `<meta>` elements.
 */
export interface HtmlScan extends Pick<ReadDocument, "title" | "properties" | "text" | "headings"> {
  readonly elements: number;
  /** Number of open elements at the deepest position; counting stops at MAX_SCAN_DEPTH. */
  readonly depth: number;
}

/** Most open elements that are searched for the start of a closing tag, which keeps the scan linear. */
export const MAX_SCAN_DEPTH = 256;

const words = (text: string) => new Set(text.split(" "));
const VOID = words("area base br col embed hr img input link meta param source track wbr");
/** Elements whose content is not part of the page's text. */
const SILENT = words(
  "script style noscript template svg math iframe object canvas audio video select datalist noembed noframes",
);
const BLOCK = words(
  "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol option p pre section summary table tbody tfoot thead title tr ul",
);
const CELL = words("td th");
const HEADING = /^h([1-6])$/;
/** Parts of characters with readings (ruby); the brackets (rp) are for browsers without ruby support. */
const RUBY = words("rb rt rtc rp");
/** Elements that end a paragraph, whether or not it has a closing tag. */
const AFTER_PARAGRAPH = words(
  "address article aside blockquote details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr main menu nav ol p pre section table ul",
);
/** Elements that scripts make visible as soon as the page has been loaded. */
const ROOTS = words("html body");
/** Elements that the next element of their kind closes, even without a closing tag. */
const SELF_CLOSING = words("p li dt dd tr td th option");
/** Most characters of a tag that are read. */
const ATTRIBUTES = words("hidden style lang name property itemprop http-equiv content alt alttext");
/** Elements whose text is their description. */
const DESCRIBED = words("img area input math");
/** Most characters of an attribute that are read. */
const MAX_ATTRIBUTE = 4096;
/** Longest name that is relevant here. */
const MAX_NAME = 64;

/**
 * Reads the text of a page without building a document. Its time depends only on the length of the page, whatever its nesting, unclosed
 * quotes, comments and tags. Uses only the tokenizer, because the parser of the same package searches all open elements for each closing
 * tag, which takes quadratic time.
 */
export function scanHtml(html: string): HtmlScan {
  const out = new TextBuilder();
  const open: string[] = [];
  const properties = new PropertyCollector();
  /** Number of open elements within the outermost hidden one. */
  let hidden = Infinity;
  /** The open title or SILENT element; only its closing tag ends it. */
  let inside: string | null = null;
  /** Position within characters that have readings (ruby). */
  let ruby: "" | "base" | "rt" | "rp" = "";
  /** Readings of the preceding characters; they follow the last of these, so that a word is not split. */
  let readings = "";
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
    else if (inside !== null || open.length >= hidden || ruby === "rp") return;
    else if (ruby === "rt") readings += collapse(text);
    else {
      if (ruby === "") endReadings();
      out.text(text, pre > 0);
    }
  }

  function endReadings(): void {
    if (readings !== "") out.text(`(${readings})`, false);
    readings = "";
  }

  /** What a tag does to readings: a new one ends the one before, even without a closing tag. */
  function readRuby(name: string, closing: boolean): void {
    if (name === "ruby") ruby = closing ? "" : "base";
    else if (ruby !== "" && RUBY.has(name)) ruby = closing || name === "rb" ? "base" : name === "rp" ? "rp" : "rt";
  }

  function readValue(text: string): void {
    if (value.length < MAX_ATTRIBUTE) value += text.slice(0, MAX_ATTRIBUTE);
  }

  /** Applies the effect of a tag on the text around it. */
  function breakText(name: string, closing: boolean): void {
    if (name === "pre") pre = Math.max(0, pre + (closing ? -1 : 1));
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) {
      endReadings();
      out.endHeading();
    }
    readRuby(name, closing);
    if (BLOCK.has(name) || CELL.has(name)) endReadings();
    if (BLOCK.has(name)) out.line();
    else if (CELL.has(name)) out.tab();
    if (level !== undefined && !closing) out.startHeading(Number(level));
  }

  function openTag(selfClosing: boolean): void {
    if (inside !== null) return;
    breakText(tag, false);
    elements += 1;
    const described =
      DESCRIBED.has(tag) && !isHidden(attributes) ? (attributes.get("alt") ?? attributes.get("alttext")) : "";
    if (described !== undefined && described.trim() !== "") readText(` ${described} `);
    if (tag === "meta" || tag === "html") readProperties(attributes, properties);
    if (tag === "title" || SILENT.has(tag)) {
      // In HTML the slash is ignored here; a chapter of a book is XML and may have an empty title.
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
        // If several attributes have the same name, the first counts.
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
  endReadings();
  return {
    title: title || collapse(titlePart) || null,
    properties: properties.collected(),
    ...out.finish(),
    elements,
    depth,
  };
}

const nothing = (): void => undefined;

/** Whether an element's content is invisible, judged by its own tag. */
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
  /** What separates the next text from the previous one: nothing, a blank, a tab between cells, or a line end. */
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

  startHeading(level: number): void {
    this.#heading = { level, start: -1 };
  }

  endHeading(): void {
    const { level, start } = this.#heading ?? { level: 0, start: -1 };
    if (start !== -1) this.#headings.push({ level, char_start: start, char_end: this.#length });
    this.#heading = null;
  }

  #push(raw: string): void {
    // Control characters are removed here, so that positions in the text stay valid.
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
