import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import { MAX_SCAN_DEPTH, scanHtml } from "./html-scan.ts";
import type { ReadDocument } from "./protocol.ts";

/** The readable text of a page. */
export type HtmlText = Pick<ReadDocument, "title" | "properties" | "text" | "headings">;

/**
 * Limits above which the whole page is read instead of its article: linkedom and Readability take time that grows with the square of
 * nesting and width (50 000 unclosed tags keep them busy for minutes).
 */
const ARTICLE_LIMITS = { chars: 2_000_000, elements: 10_000, depth: MAX_SCAN_DEPTH - 1 };
/** A shorter text is not taken for an article; it is more likely a teaser on a page without one. */
const MIN_ARTICLE_CHARS = 200;

/**
 * The text of an HTML page: its article if it has one, otherwise all visible text. Scripts, styles and markup are dropped; blocks stand on
 * lines of their own. Has no effects, and its time is bounded by the page's length; still, a page is hostile, so call it in a child
 * process.
 */
export function htmlToText(html: string): HtmlText {
  const whole = scanHtml(html);
  const small =
    html.length <= ARTICLE_LIMITS.chars &&
    whole.elements <= ARTICLE_LIMITS.elements &&
    whole.depth <= ARTICLE_LIMITS.depth;
  const article = small ? articleOf(html) : undefined;
  const { text, headings } = article ?? whole;
  return { title: whole.title ?? article?.title ?? null, properties: whole.properties, text, headings };
}

function articleOf(html: string): Omit<HtmlText, "properties"> | undefined {
  try {
    // Without an `<html>` tag, linkedom takes the first element for the whole document.
    const page = /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`;
    const { document } = parseHTML(page);
    if (!isProbablyReaderable(document)) return undefined;
    const article = new Readability(document, {
      maxElemsToParse: ARTICLE_LIMITS.elements,
      disableJSONLD: true,
    }).parse();
    const { text, headings } = scanHtml(article?.content ?? "");
    return text.length < MIN_ARTICLE_CHARS ? undefined : { title: article?.title || null, text, headings };
  } catch {
    // Readability fails on some documents that linkedom builds from broken pages; the whole text is still available.
    return undefined;
  }
}
