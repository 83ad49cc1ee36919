import { setTimeout as delay } from "node:timers/promises";
import { ResourceFailure } from "../../../domain/knowledge/resource-failure.ts";
import type { GuardedFetch } from "../../../platform/fetch/guarded-fetch.ts";
import { FetchFailed, FetchRefused } from "../../../platform/fetch/guarded-fetch-errors.ts";
import { ALL_ALLOWED, NOTHING_ALLOWED, ROBOTS_BYTES, readRobots, type Robots } from "../../../platform/sites/robots.ts";
import { asResourceFailure, fetchPage, type PageAnswer, type PageDeps, type PageRequest } from "../fetch-page.ts";

/** Most hosts whose robots.txt is cached. */
const MAX_HOSTS = 1000;
const RETRY_AFTER_MS = 1000;

export interface SiteDeps extends PageDeps {
  readonly guardedFetch: Pick<GuardedFetch, "fetch" | "check">;
  /** Time between the starts of two requests to one host (ms), unless its robots.txt asks for more. */
  readonly delayMs: number;
}

export type SiteClient = ReturnType<typeof createSiteClient>;

/** Reads pages of sites as their robots.txt allows, at a polite rate. For one sync in one process. */
export function createSiteClient(deps: SiteDeps) {
  const { guardedFetch, version, delayMs } = deps;
  const rules = new Map<string, Promise<Robots>>();
  /** The earliest time of the next request to a host. */
  const free = new Map<string, number>();
  const headers = { "user-agent": `Millrace/${version}` };

  /** Waits until the next request to a host may start. */
  async function awaitSlot(url: string, ms: number, signal: AbortSignal): Promise<void> {
    const { host } = new URL(url);
    const now = Date.now();
    const at = Math.max(now, free.get(host) ?? 0);
    free.set(host, at + ms);
    if (free.size > MAX_HOSTS) for (const [each, until] of free) if (until < now) free.delete(each);
    if (at > now) await delay(at - now, undefined, { signal });
  }

  async function loadRobots(origin: string, signal: AbortSignal): Promise<Robots> {
    const url = `${origin}/robots.txt`;
    try {
      const limits = { responseBytes: ROBOTS_BYTES };
      const answer = await guardedFetch.fetch({ url, headers, limits, incomplete: "keep", signal });
      if (answer.status >= 200 && answer.status <= 299) return readRobots(url, answer.body.toString("utf8"));
      // As RFC 9309 requires, a missing robots.txt forbids nothing and an unreachable one forbids everything.
      return answer.status >= 500 || answer.status === 429 ? NOTHING_ALLOWED : ALL_ALLOWED;
    } catch (error) {
      if (error instanceof FetchRefused || error instanceof FetchFailed) return NOTHING_ALLOWED;
      throw error;
    }
  }

  async function robots(url: string, signal: AbortSignal): Promise<Robots> {
    const { origin } = new URL(url);
    let known = rules.get(origin);
    if (known === undefined) {
      if (rules.size >= MAX_HOSTS) rules.clear();
      known = loadRobots(origin, signal);
      rules.set(origin, known);
      known.catch(() => rules.delete(origin));
    }
    return await known;
  }

  async function allowed(url: string, signal: AbortSignal): Promise<Robots> {
    const found = await robots(url, signal);
    if (found === NOTHING_ALLOWED) {
      const message = `Could not read the robots.txt of ${new URL(url).origin}, so no page of this site is read.`;
      throw new ResourceFailure("robots_unavailable", message);
    }
    if (!found.allows(url))
      throw new ResourceFailure("robots_forbidden", "The site's robots.txt forbids reading this URL.");
    return found;
  }

  /** A redirect leads to another page, whose own robots.txt rule is checked before the request. */
  const asking = (signal: AbortSignal) => ({
    async beforeRedirect(url: string): Promise<void> {
      // If the network rules forbid the host, robots.txt is not requested either.
      await guardedFetch.check(url);
      await allowed(url, signal);
    },
  });

  async function twice<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ResourceFailure) || !error.retryable) throw error;
      await delay(RETRY_AFTER_MS, undefined, { signal });
      return await work();
    }
  }

  return {
    robots,
    /** The bytes at a URL. Throws ResourceFailure. */
    async load(url: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
      const { delayMs: asked } = await allowed(url, signal);
      return await twice(async () => {
        await awaitSlot(url, Math.max(delayMs, asked ?? 0), signal);
        try {
          const limits = { responseBytes: maxBytes };
          const answer = await guardedFetch.fetch({ url, headers, limits, signal, ...asking(signal) });
          if (answer.status >= 200 && answer.status <= 299) return answer.body;
          const retryable = answer.status >= 500;
          throw new ResourceFailure("http_status", `The server returned status ${answer.status}.`, { retryable });
        } catch (error) {
          throw asResourceFailure(error);
        }
      }, signal);
    },
    /** A page. With `respectful: false` it ignores robots.txt, for a single URL that a person added. Throws ResourceFailure. */
    async page(
      url: string,
      { known, respectful, signal }: Omit<PageRequest, "url"> & { readonly respectful: boolean },
    ): Promise<PageAnswer> {
      const asked = respectful ? (await allowed(url, signal)).delayMs : null;
      return await twice(async () => {
        await awaitSlot(url, Math.max(delayMs, asked ?? 0), signal);
        return await fetchPage(deps, { url, known, signal, ...(respectful ? asking(signal) : {}) });
      }, signal);
    },
  };
}
