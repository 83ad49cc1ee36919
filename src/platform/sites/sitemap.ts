import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { SaxesParser } from "saxes";
import { nextSlice } from "../slices.ts";

/** Longest sitemap, uncompressed, as sitemaps.org defines it. */
export const SITEMAP_BYTES = 50 * 1024 * 1024;
/** Most URLs in one sitemap, as sitemaps.org defines it. */
export const SITEMAP_ADDRESSES = 50_000;
/** Longest URL that is read. */
export const MAX_ADDRESS = 2048;
const PARSED_AT_ONCE = 64 * 1024;

const unzip = promisify(gunzip);

/** Thrown if a file is not a readable sitemap; the message is for the person who entered its URL. */
export class SitemapError extends Error {
  override name = "SitemapError";
}

export interface Sitemap {
  /** Whether the URLs are those of other sitemaps. */
  readonly isIndex: boolean;
  /** Absolute http and https URLs without a fragment and without repetitions. */
  readonly addresses: readonly string[];
  /** The first MAX_ADDRESS characters of URLs that are longer. */
  readonly tooLong: readonly string[];
  /** False if it lists more than SITEMAP_ADDRESSES URLs; these are the first. */
  readonly isWhole: boolean;
}

/** Reads a sitemap or sitemap index: XML or a list of lines, gzipped or not. `url` is where it was downloaded from. Throws SitemapError. */
export async function readSitemap(url: string, bytes: Buffer): Promise<Sitemap> {
  const text = (await inflated(bytes)).toString("utf8").replace(/^\ufeff/, "");
  const addresses = new Set<string>();
  const tooLong: string[] = [];
  let isWhole = true;
  const add = (address: string): void => {
    const absolute = anyAddress(address, url);
    if (absolute === null) return;
    if (absolute.length > MAX_ADDRESS) {
      if (tooLong.length < SITEMAP_ADDRESSES) tooLong.push(absolute.slice(0, MAX_ADDRESS));
    } else if (addresses.size < SITEMAP_ADDRESSES) addresses.add(absolute);
    else isWhole &&= addresses.has(absolute);
  };
  if (!text.trimStart().startsWith("<")) {
    for (const line of text.split(/\r\n|\r|\n/)) if (/^https?:\/\//i.test(line.trim())) add(line);
    if (addresses.size + tooLong.length === 0)
      throw new SitemapError("The file is neither a sitemap nor a list of URLs.");
    return { isIndex: false, addresses: [...addresses], tooLong, isWhole };
  }
  const root = await readLocations(text, add);
  if (root !== "urlset" && root !== "sitemapindex") throw new SitemapError("The file is not a sitemap.");
  return { isIndex: root === "sitemapindex", addresses: [...addresses], tooLong, isWhole };
}

/** An absolute http or https URL, without its fragment; null for anything else, and for very long ones. */
export function webAddress(text: string, base?: string): string | null {
  const address = anyAddress(text, base);
  return address !== null && address.length <= MAX_ADDRESS ? address : null;
}

function anyAddress(text: string, base?: string): string | null {
  if (!URL.canParse(text.trim(), base)) return null;
  const address = new URL(text.trim(), base);
  address.hash = "";
  return /^https?:$/.test(address.protocol) && address.username === "" ? address.href : null;
}

async function inflated(bytes: Buffer): Promise<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return await unzip(bytes, { maxOutputLength: SITEMAP_BYTES });
  } catch (cause) {
    throw new SitemapError("The file cannot be decompressed, or is longer than 50 MiB.", { cause });
  }
}

/**
 * Calls `onLocation` for each page or sitemap listed, but not for images and translations of pages; returns the name of the root element.
 */
async function readLocations(text: string, onLocation: (address: string) => void): Promise<string> {
  // DTDs are never read, and only XML's own entities are known.
  const parser = new SaxesParser();
  const path: string[] = [];
  let root = "";
  let location: string | null = null;
  const local = (name: string): string => name.slice(name.indexOf(":") + 1);
  parser.on("opentag", ({ name }) => {
    if (path.length === 0) root = local(name);
    path.push(name);
    if (path.length === 3 && local(name) === "loc" && /^(url|sitemap)$/.test(local(path[1] ?? ""))) location = "";
  });
  const addText = (part: string): void => {
    if (location !== null && location.length <= MAX_ADDRESS) location += part;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    if (path.length === 3 && location !== null) {
      onLocation(location);
      location = null;
    }
    path.pop();
  });
  parser.on("error", (error) => {
    throw error;
  });
  try {
    for (let at = 0; at < text.length; at += PARSED_AT_ONCE) {
      parser.write(text.slice(at, at + PARSED_AT_ONCE));
      await nextSlice();
    }
    parser.close();
  } catch (cause) {
    throw new SitemapError("The file is not well-formed XML.", { cause });
  }
  return root;
}
