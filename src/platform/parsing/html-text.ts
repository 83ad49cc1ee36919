import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import { MAX_SCAN_DEPTH, scanHtml } from "./html-scan.ts";
import type { DocumentProperties } from "./properties.ts";
import type { DocumentHeading } from "./protocol.ts";

/** What people read on a page. */
export interface HtmlText {
  readonly title: string | null;
  readonly properties: DocumentProperties;
  readonly text: string;
  readonly headings: readonly DocumentHeading[];
}

/**
 * Pages beyond these are read whole instead of looking for the article in them: what linkedom and Readability do takes
 * time that grows with the square of nesting and width (50 000 unclosed tags keep them busy for minutes).
 */
const ARTICLE_LIMITS = { chars: 2_000_000, elements: 10_000, depth: MAX_SCAN_DEPTH - 1 };
/** A shorter text is not an article: more likely a teaser of a page that has none. */
const MIN_ARTICLE_CHARS = 200;

/**
 * The text of an HTML page: its article where it has one, otherwise everything that would be read on it. Scripts, styles
 * and markup are dropped; blocks stand on lines of their own. Pure, and bounded in time by the page's length; still, a
 * page is hostile: call it in a child process.
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
    // Without these, linkedom takes the first element for the whole document.
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
    // Readability trips over documents that linkedom builds from broken pages; the whole text is there all the same.
    return undefined;
  }
}
