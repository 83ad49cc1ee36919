import type { Middleware } from "koa";
import { Problem } from "../../domain/errors.ts";
import { pageStatus } from "../../domain/pages/page.ts";
import type { Config } from "../../config.ts";
import { networkOf } from "../../services/accounts/sign-in.ts";
import type { PageDoor } from "../../services/pages/page-door.ts";
import { clientAddress } from "../http/addresses.ts";
import type { RequestContext, RequestState } from "../http/operation.ts";
import { UNLIMITED, builtFiles, sendBuilt, type BuiltFile } from "../system/built-files.ts";

const FOLDER = "web-public";
const ASSETS = "/f/assets/";
const EMBED = "/embed.js";
const PAGE = /^\/f\/([^/]+)$/;
const NOT_BUILT = "The published pages have not been built: run npm run build.";
/** Short, because the name of the script never changes. */
const EMBED_CACHE = "public, max-age=300";

/** Any site may load it: it only makes a frame, and whether the frame shows the page is up to the page. */
const FOR_ALL_SITES = { "Cross-Origin-Resource-Policy": "cross-origin" };

/**
 * Everything comes from this origin, nothing is inline, and no picture of another site is loaded: a model's answer may name one. Only the
 * origins that were set may show the page in a frame.
 */
function pagePolicy(origins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data: blob:",
    "media-src blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${["'self'", ...origins].join(" ")}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** Serves `/f/{token}`, its scripts and styles, and `/embed.js`. They are the same for all pages; only the headers differ. */
export function publicFiles(config: Config, door: PageDoor): Middleware<RequestState> {
  return async function publicFiles(ctx, next) {
    const token = PAGE.exec(ctx.path)?.[1];
    if (token === undefined && ctx.path !== EMBED && !ctx.path.startsWith(ASSETS)) return next();
    ctx.state.operationId = "publishedPage";
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      ctx.set("Allow", "GET, HEAD");
      throw new Problem("method_not_allowed", "This path allows only GET and HEAD.");
    }
    if (token !== undefined) return sendPage(ctx, token, config, door);
    const isEmbed = ctx.path === EMBED;
    const file = fileAt(isEmbed ? "embed.js" : ctx.path.slice("/f/".length));
    sendBuilt(ctx, file, { ...FOR_ALL_SITES, "Cache-Control": isEmbed ? EMBED_CACHE : UNLIMITED });
  };
}

async function sendPage(ctx: RequestContext, token: string, config: Config, door: PageDoor): Promise<void> {
  try {
    await door.countRequest(networkOf(clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES)));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    ctx.set(error.headers);
    return sendText(ctx, 429, "Too many requests. Try again in a minute.");
  }
  const page = await door.find(token);
  if (page === null) return sendText(ctx, 404, "There is no page at this address.");
  if (pageStatus(page, Date.now()) !== "active") return sendText(ctx, 410, "This page is no longer available.");
  sendBuilt(ctx, fileAt("index.html"), {
    ...FOR_ALL_SITES,
    "Cache-Control": "no-store",
    "Content-Security-Policy": pagePolicy(page.origins),
    "X-Robots-Tag": "noindex",
  });
}

function fileAt(path: string): BuiltFile {
  const files = builtFiles(FOLDER);
  const file = files.get(path);
  if (file === undefined) throw new Problem("not_found", files.size === 0 ? NOT_BUILT : "No file at this path.");
  return file;
}

function sendText(ctx: RequestContext, status: number, text: string): void {
  ctx.status = status;
  ctx.type = "text/plain; charset=utf-8";
  ctx.body = `${text}\n`;
}
