import { distinct } from "../../../domain/distinct.ts";
import type { Json } from "../../../domain/json.ts";
import { ResourceFailure } from "../../../domain/knowledge/resource-failure.ts";
import {
  MAX_ADDRESS,
  SITEMAP_ADDRESSES,
  SITEMAP_BYTES,
  SitemapError,
  readSitemap,
  webAddress,
  type Sitemap,
} from "../../../platform/sites/sitemap.ts";
import type { WebsiteSource } from "../../../stores/knowledge/knowledge-bases.ts";
import type { SiteClient } from "./site-client.ts";
import type { KnowledgeSource, ListFailure, SourcePage } from "./source.ts";

/** Most sitemaps of one site. */
const MAX_SITEMAPS = 500;
/** Most characters of a URL in a message. */
const SHOWN = 200;

/** The sitemaps that have not been read yet. */
type SitemapsLeft = readonly { readonly url: string; readonly nested: boolean }[];

/** The pages of a site that a person chose, or that its sitemaps list. Links are not followed. */
export function createWebsiteSource(source: WebsiteSource, site: SiteClient): KnowledgeSource {
  return {
    list: (at, signal) => (source.source_type === "manual" ? listSelected() : listSitemaps(at, signal)),
    read: (url, known, signal) => site.page(url, { known, respectful: true, signal }),
  };

  async function listSelected(): Promise<SourcePage> {
    const failures: ListFailure[] = [];
    const addresses = source.selected_resources.flatMap((url) => {
      const address = webAddress(url);
      if (address !== null) return [address];
      failures.push({ address: url, code: "address_unusable", message: "The URL is too long after encoding." });
      return [];
    });
    return { addresses, failures, next: null };
  }

  async function listSitemaps(at: Json, signal: AbortSignal): Promise<SourcePage> {
    const left = at === null ? await firstSitemaps(signal) : (at as never as SitemapsLeft);
    const [first, ...rest] = left;
    if (first === undefined) return { addresses: [], failures: [], next: null };
    const failures: ListFailure[] = [];
    const fail = (code: string, message: string, more: Pick<ListFailure, "hidesNothing"> = {}) =>
      failures.push({ address: first.url, code, message, ...more });
    const found = await readOne(first.url, fail, signal);
    if (found?.isWhole === false)
      fail(
        "too_many_addresses",
        `Only the first ${SITEMAP_ADDRESSES} URLs are read, the most that a sitemap may have: split the sitemap, and list the parts in an index.`,
      );
    const nested = found?.isIndex === true ? found.addresses : [];
    if (first.nested && nested.length > 0)
      fail("sitemap_nested", "A sitemap index inside a sitemap index is not read.");
    const more = first.nested ? rest : [...nested.map((url) => ({ url, nested: true })), ...rest];
    if (more.length > MAX_SITEMAPS) fail("too_many_sitemaps", `Only the first ${MAX_SITEMAPS} sitemaps are read.`);
    const tooLong = found?.isIndex === false ? found.tooLong.filter(isSelected) : (found?.tooLong ?? []);
    if (tooLong.length > 0) {
      const message = `URLs longer than ${MAX_ADDRESS} characters are not read: ${tooLong.length}, the first is ${tooLong[0]?.slice(0, SHOWN)}…`;
      fail("addresses_too_long", message, found?.isIndex === false ? { hidesNothing: true } : {});
    }
    const next = more.slice(0, MAX_SITEMAPS);
    const pages = found === null || found.isIndex ? [] : found.addresses.filter(isSelected);
    return { addresses: pages, failures, next: next.length === 0 ? null : next };
  }

  /** The given URL if it is a sitemap; otherwise the sitemaps that the site's robots.txt names, or else /sitemap.xml. */
  async function firstSitemaps(signal: AbortSignal): Promise<SitemapsLeft> {
    const url = siteAddress(source.original_search_term);
    if (url === null) return [];
    if (/\.(xml|txt)(\.gz)?$/i.test(new URL(url).pathname)) return [{ url, nested: false }];
    const named = (await site.robots(url, signal)).sitemaps.flatMap((each) => webAddress(each, url) ?? []);
    const urls = named.length > 0 ? distinct(named) : [new URL("/sitemap.xml", url).href];
    return urls.map((each) => ({ url: each, nested: false }));
  }

  async function readOne(
    url: string,
    fail: (code: string, message: string) => void,
    signal: AbortSignal,
  ): Promise<Sitemap | null> {
    try {
      return await readSitemap(url, await site.load(url, SITEMAP_BYTES, signal));
    } catch (error) {
      if (!(error instanceof ResourceFailure || error instanceof SitemapError)) throw error;
      fail(error instanceof ResourceFailure ? error.code : "sitemap_broken", error.message);
      return null;
    }
  }

  function isSelected(url: string): boolean {
    const { selected_resources: selected } = source;
    return selected.length === 0 || selected.some((each) => url.startsWith(webAddress(each) ?? each));
  }
}

/** The URL of a site from a person's input, with or without https://; null if the input is not a URL. */
export function siteAddress(term: string): string | null {
  const text = term.trim();
  if (text === "") return null;
  const url = webAddress(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  return url !== null && !/\s/.test(text) ? url : null;
}
