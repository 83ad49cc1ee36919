import { createHash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { uuidv7 } from "uuidv7";
import { Problem, notFound } from "../../domain/errors.ts";
import { VISITOR_DAYS, pageStatus } from "../../domain/pages/page.ts";
import { matchPassword } from "../../platform/secrets/crypto.ts";
import type { Database } from "../../stores/db.ts";
import { findPageByToken, type PageRow } from "../../stores/pages/pages.ts";
import { findVisitor, insertVisitor, touchVisitor, type VisitorRow } from "../../stores/pages/visitors.ts";
import type { PasswordQueue } from "../accounts/password-queue.ts";
import { createRateLimiter, type RateLimiter } from "../rate-limiter.ts";

const SECRET_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;
const HANDLE = /^v_[\w-]{43}$/;
/** How long a process may miss a change of a page by another one (ms). With the interval of streams it is well within 5 s. */
const CACHE_MS = 2000;
const MAX_CACHED = 10_000;
/** A visitor does not change; what ends a visit is the page. */
const VISITOR_CACHE_MS = 60_000;
/** The last use of a handle is written at most once in this time. */
const SEEN_EVERY_MS = 3_600_000;

const MINUTE = 60;
const QUARTER = 900;
const HOUR = 3600;
const DAY = 86_400;
/** New visitors of a page from one network. */
const ARRIVALS = { name: "page-arrivals", points: 200, seconds: QUARTER };
/**
 * Wrong passwords for a page: at most 5 from a network in 15 minutes, and 300 from all networks in an hour. When others have used up the
 * 300, each region (the /24 of an IPv4 address, the /48 of an IPv6 address) still has 3 guesses a day, and all regions together 5000. So
 * people who know the password still come in.
 *
 * A password is guessed at most 24 * 300 + 5000 = 12 200 times a day, from however many networks: 4.5 million times a year, of the 2 * 10^11
 * passwords of 8 lower-case letters. To use up the 300, a guesser needs 15 networks (5 guesses four times an hour each), and 1667 regions
 * a day for the 5000: only then are others locked out.
 */
const GUESSES = { name: "page-password", points: 5, seconds: QUARTER };
const GUESSES_OF_ALL = { name: "page-passwords", points: 300, seconds: HOUR };
const GUESSES_OF_REGION = { name: "page-region", points: 3, seconds: DAY };
const GUESSES_BEYOND = { name: "page-beyond", points: 5000, seconds: DAY };

export type PageDoor = ReturnType<typeof createPageDoor>;

/** A new token of a page's URL. */
export function newPageToken(): { readonly token: string; readonly hash: Buffer } {
  const token = randomBytes(SECRET_BYTES).toString("base64url");
  return { token, hash: hashSecret(token) };
}

/** Admits people without an account to published pages. */
export function createPageDoor(db: Database, passwords: PasswordQueue, requestsPerMinute: number) {
  // The keys are digests, so that a heap dump contains no tokens. An object, because null cannot be cached.
  const pages = new LRUCache<string, { readonly page: PageRow | null }>({ max: MAX_CACHED, ttl: CACHE_MS });
  const visitors = new LRUCache<string, VisitorRow>({ max: MAX_CACHED, ttl: VISITOR_CACHE_MS });
  const lookups = new Map<string, Promise<PageRow | null>>();
  const requests = new RateLimiterMemory({ points: requestsPerMinute, duration: MINUTE });
  const arrivals = createRateLimiter(db, ARRIVALS);
  const guesses = createRateLimiter(db, GUESSES);
  const guessesOfAll = createRateLimiter(db, GUESSES_OF_ALL);
  const guessesOfRegion = createRateLimiter(db, GUESSES_OF_REGION);
  const guessesBeyond = createRateLimiter(db, GUESSES_BEYOND);
  // The counts are in the database, so any number of limiters with the same name share them.
  const starts = new LRUCache<string, RateLimiter>({ max: 1000 });

  function startsOf(name: string, points: number): RateLimiter {
    const key = `${name} ${points}`;
    const limiter = starts.get(key) ?? createRateLimiter(db, { name, points, seconds: MINUTE });
    starts.set(key, limiter);
    return limiter;
  }

  /** The page with this token, whatever its status; null if there is none. */
  async function find(token: string): Promise<PageRow | null> {
    if (!TOKEN.test(token)) return null;
    const hash = hashSecret(token);
    const key = hash.toString("base64");
    const known = pages.get(key);
    if (known) return known.page;
    // Concurrent callers share the query.
    const lookup = lookups.get(key) ?? db.system((connection) => findPageByToken(connection, hash));
    lookups.set(key, lookup);
    try {
      const page = await lookup;
      // After `forget` a lookup that began before it may have read the old row.
      if (lookups.get(key) === lookup) pages.set(key, { page });
      return page;
    } finally {
      if (lookups.get(key) === lookup) lookups.delete(key);
    }
  }

  /** Counts a guess before the check of its password, so that concurrent guesses all count. Returns what undoes it. Throws 429. */
  async function countGuess(pageId: string, network: string): Promise<() => Promise<void>> {
    const taken: Array<() => Promise<void>> = [];
    const giveBack = async (): Promise<void> => void (await Promise.all(taken.map((each) => each())));
    const take = async (limiter: RateLimiter, key: string): Promise<void> => {
      await limiter.take(key);
      taken.push(() => limiter.giveBack(key));
    };
    try {
      await take(guesses, countedAs(pageId, network));
      if (await guessesOfAll.tryTake(pageId)) taken.push(() => guessesOfAll.giveBack(pageId));
      else {
        await take(guessesOfRegion, countedAs(pageId, regionOf(network)));
        await take(guessesBeyond, pageId);
      }
    } catch (error) {
      await giveBack();
      throw error;
    }
    return giveBack;
  }

  async function checkPassword(page: PageRow, password: string | undefined, network: string): Promise<void> {
    const { password_hash } = page;
    if (password_hash === null) return;
    if (password === undefined) throw unauthorized("This page has a password: send it as `password`.");
    const giveBack = await countGuess(page.page_id, network);
    const matching = await passwords
      .take(`page ${network}`, () => matchPassword(password, [password_hash]))
      .catch(async (error: unknown) => {
        await giveBack();
        throw error;
      });
    if (!matching.has(password_hash)) throw unauthorized("The password is not correct.");
    await giveBack();
  }

  return {
    find,
    /** The page with this token. Throws 404, and 410 if it is revoked or expired. */
    async open(token: string): Promise<PageRow> {
      const page = await find(token);
      if (page === null) throw notFound("page");
      if (pageStatus(page, Date.now()) !== "active")
        throw new Problem("page_closed", "This page is no longer available.");
      return page;
    },
    /** The visitor with this handle; null if it is unknown, expired, of another page, or of before the last change of the password. */
    async visitor(page: PageRow, handle: string): Promise<VisitorRow | null> {
      if (!HANDLE.test(handle)) return null;
      const hash = hashSecret(handle);
      const key = `${page.page_id} ${hash.toString("base64")}`;
      const visitor =
        visitors.get(key) ?? (await db.org(page.org_id, (connection) => findVisitor(connection, page.page_id, hash)));
      if (visitor === null || Date.parse(visitor.created_at) < Date.parse(page.visitors_since)) return null;
      const unused = Date.now() - Date.parse(visitor.seen_at);
      if (unused > VISITOR_DAYS * DAY * 1000) return null;
      const touched = unused > SEEN_EVERY_MS;
      if (touched) await db.org(page.org_id, (connection) => touchVisitor(connection, visitor.visitor_id));
      visitors.set(key, touched ? { ...visitor, seen_at: new Date().toISOString() } : visitor);
      return visitor;
    },
    /** The secret by which the page knows a new visitor. Throws 401 for a wrong password, and 429 for too many visitors or guesses. */
    async enter(page: PageRow, password: string | undefined, network: string) {
      await arrivals.take(countedAs(page.page_id, network));
      await checkPassword(page, password, network);
      const visitor = `v_${randomBytes(SECRET_BYTES).toString("base64url")}`;
      const { org_id, page_id } = page;
      const secret_hash = hashSecret(visitor);
      await db.org(org_id, (connection) =>
        insertVisitor(connection, { visitor_id: uuidv7(), org_id, page_id, secret_hash }),
      );
      return { visitor, expires_at: new Date(Date.now() + VISITOR_DAYS * DAY * 1000).toISOString() };
    },
    /** Counts one request of a network in this process. Throws 429. */
    async countRequest(network: string): Promise<void> {
      await requests.consume(network).catch((left: { readonly msBeforeNext?: number }) => {
        throw new Problem("rate_limited", "Too many requests from this network. Retry later.", {
          headers: { "Retry-After": String(Math.max(1, Math.ceil((left.msBeforeNext ?? 1000) / 1000))) },
        });
      });
    },
    /** Counts a run or an upload against the limits of the page. Throws 429. */
    async countStart({ page_id, rate_limits }: PageRow, visitorId: string, network: string): Promise<void> {
      // The narrowest first: a visitor over its limit takes nothing from the others.
      await startsOf("page-visitor", rate_limits.visitor).take(visitorId);
      await startsOf("page-network", rate_limits.network).take(countedAs(page_id, network));
      await startsOf("page", rate_limits.page).take(page_id);
    },
    /** Drops a page from the cache, so that this process sees its change immediately. */
    forget(pageId: string): void {
      lookups.clear();
      for (const [key, { page }] of pages) if (page?.page_id === pageId) pages.delete(key);
    },
  };
}

/** A network is counted for each page, under a digest: the table of counts keeps no addresses. */
function countedAs(pageId: string, network: string): string {
  return hashSecret(`${pageId} ${network}`).toString("hex");
}

/** The /24 of an IPv4 address, or the /48 of an IPv6 network: what one guesser can get as a whole. */
function regionOf(network: string): string {
  const separator = network.includes(":") ? ":" : ".";
  return network.split(separator).slice(0, 3).join(separator);
}

function unauthorized(detail: string): Problem {
  return new Problem("unauthorized", detail, { headers: { "WWW-Authenticate": 'Bearer realm="page"' } });
}

function hashSecret(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
