import { gzipSync } from "node:zlib";
import { startHttpTarget, type HttpTarget, type ReceivedRequest } from "./http-target.ts";

/** A real website: pages with validators, a robots.txt, and a gzipped sitemap behind a sitemap index. */
export interface Website {
  readonly url: string;
  readonly target: HttpTarget;
  /** The texts of its pages by path; changes are served and listed immediately. */
  readonly pages: Map<string, string>;
  /** Additional listed pages, which a test serves in its own way. */
  readonly others: string[];
  /** Number of responses with content, and of 304 responses, for a page. */
  served(path: string): { readonly whole: number; readonly unchanged: number };
  address(path: string): string;
  /** Replaces the response to any request while it is set. */
  override:
    | ((request: ReceivedRequest) => { status: number; headers?: Record<string, string>; body?: string } | null)
    | null;
  close(): Promise<void>;
}

const html = (text: string): string =>
  `<!doctype html><html><head><title>Page</title></head><body><main><p>${text}</p></main></body></html>`;

/** Starts a website with these pages; robots.txt forbids the folder `forbidden`. */
export async function startWebsite(pages: Record<string, string>, forbidden = "/private/"): Promise<Website> {
  const target = await startHttpTarget();
  const served = new Map<string, { whole: number; unchanged: number }>();
  const site: Website = {
    url: target.url,
    target,
    pages: new Map(Object.entries(pages)),
    others: [],
    served: (path) => served.get(path) ?? { whole: 0, unchanged: 0 },
    address: (path) => `${target.url}${path}`,
    override: null,
    close: () => target.close(),
  };
  const listed = (): string =>
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">${[
      ...site.pages.keys(),
      ...site.others,
    ]
      .map(
        (path) =>
          `<url><loc>\n${target.url}${path} </loc><image:image><image:loc>${target.url}/i.png</image:loc></image:image></url>`,
      )
      .join("")}</urlset>`;
  target.onEvery((request, response) => {
    const { path, headers } = request;
    const given = site.override?.(request) ?? null;
    if (given !== null) return void response.writeHead(given.status, given.headers).end(given.body ?? "");
    if (path === "/robots.txt") {
      const lines = ["User-agent: *", `Disallow: ${forbidden}`, `Sitemap: ${target.url}/sitemaps/index.xml`];
      return void response.writeHead(200, { "content-type": "text/plain" }).end(lines.join("\n"));
    }
    if (path === "/sitemaps/index.xml") {
      const index = `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>${target.url}/sitemaps/pages.xml.gz</loc></sitemap></sitemapindex>`;
      return void response.writeHead(200, { "content-type": "application/xml" }).end(index);
    }
    if (path === "/sitemaps/pages.xml.gz") {
      return void response.writeHead(200, { "content-type": "application/gzip" }).end(gzipSync(listed()));
    }
    const text = site.pages.get(path);
    if (text === undefined) return void response.writeHead(404).end("no such page");
    const etag = `"${Buffer.from(text).toString("base64url").slice(-40)}-${text.length}"`;
    const counts = served.get(path) ?? { whole: 0, unchanged: 0 };
    served.set(path, counts);
    if (headers["if-none-match"] === etag) {
      counts.unchanged += 1;
      return void response.writeHead(304, { etag }).end();
    }
    counts.whole += 1;
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", etag }).end(html(text));
  });
  return site;
}
