import robotsParser from "robots-parser";

/** The name of Millrace in robots.txt. */
const PRODUCT = "Millrace";
/** Most characters of a robots.txt that are read, as RFC 9309 requires at least. */
export const ROBOTS_BYTES = 500 * 1024;
/** Longer lines are not real rules, and would make matching slow. */
const MAX_LINE = 2048;
const MAX_DELAY_MS = 30_000;

/** The rules of a site for programs that read it. */
export interface Robots {
  allows(url: string): boolean;
  /** Time between two requests, at most 30 s; null if the site sets none. */
  readonly delayMs: number | null;
  /** URLs of the site's sitemaps, as written there. */
  readonly sitemaps: readonly string[];
}

/** Reads the robots.txt that is at `url`. */
export function readRobots(url: string, text: string): Robots {
  const lines = text.slice(0, ROBOTS_BYTES).split(/\r\n|\r|\n/);
  // The package's types describe an ES module, but the package is not one.
  const parse = robotsParser as unknown as typeof robotsParser.default;
  const rules = parse(url, lines.filter((line) => line.length <= MAX_LINE).join("\n"));
  const delay = rules.getCrawlDelay(PRODUCT);
  return {
    allows: (address) => rules.isAllowed(address, PRODUCT) !== false,
    delayMs: delay === undefined || !(delay >= 0) ? null : Math.min(delay * 1000, MAX_DELAY_MS),
    sitemaps: rules.getSitemaps(),
  };
}

export const ALL_ALLOWED: Robots = { allows: () => true, delayMs: null, sitemaps: [] };
export const NOTHING_ALLOWED: Robots = { allows: () => false, delayMs: null, sitemaps: [] };
