import robotsParser from "robots-parser";

/** Product token of the service in robots.txt. */
const PRODUCT = "Millrace";
/** How much of a robots.txt is read; RFC 9309 asks for no more. */
export const ROBOTS_BYTES = 500 * 1024;
/** Longer lines are no rules anybody wrote, and make matching slow. */
const MAX_LINE = 2048;
const MAX_DELAY_MS = 30_000;

/** What a site asks of programs that read it. */
export interface Robots {
  allows(url: string): boolean;
  /** Time between two requests, 30 s at most; null if it asks for none. */
  readonly delayMs: number | null;
  /** Addresses of its sitemaps, as they are written there. */
  readonly sitemaps: readonly string[];
}

/** Reads the robots.txt that is at `url`. */
export function readRobots(url: string, text: string): Robots {
  const lines = text.slice(0, ROBOTS_BYTES).split(/\r\n|\r|\n/);
  // The package's types describe an ES module, which it is not.
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
