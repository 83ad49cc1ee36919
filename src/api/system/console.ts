import type { Middleware } from "koa";
import { Problem } from "../../domain/errors.ts";
import type { ContentAnswer, RequestState } from "../http/operation.ts";
import { UNLIMITED, builtFiles, sendBuilt } from "./built-files.ts";

/**
 * Everything comes from this origin and nothing is inline; no page may frame it. With Trusted Types, browsers that support them turn no
 * text into markup or a script's URL.
 */
const POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const PAGE_HEADERS = {
  "Cache-Control": "no-cache",
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};
const NOT_BUILT = "The console has not been built: run npm run build.";
const PREFIX = "/console";
/**
 * Serves the built console: its files with an unlimited cache time, since their names change with their contents, and its page for every
 * other path below `/console`, which decides what to show.
 */
export function consoleFiles(): Middleware<RequestState> {
  const files = builtFiles("web");
  return async function consoleFiles(ctx, next) {
    if (ctx.path !== PREFIX && !ctx.path.startsWith(`${PREFIX}/`)) return next();
    // Session operations are below `/console`, too.
    if (ctx.path === `${PREFIX}/session` || ctx.path.startsWith(`${PREFIX}/session/`)) return next();
    ctx.state.operationId = "console";
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      ctx.set("Allow", "GET, HEAD");
      throw new Problem("method_not_allowed", "This path allows only GET and HEAD.");
    }
    const isAsset = ctx.path.startsWith(`${PREFIX}/assets/`);
    const file = files.get(isAsset ? ctx.path.slice(PREFIX.length + 1) : "index.html");
    if (file === undefined) {
      throw new Problem("not_found", isAsset ? "No page at this path." : NOT_BUILT);
    }
    sendBuilt(ctx, file, { ...PAGE_HEADERS, ...(isAsset && { "Cache-Control": UNLIMITED }) });
  };
}

/** The console's page for paths outside `/console` that it also shows; undefined if it has not been built. */
export function consolePage(): ContentAnswer | undefined {
  const page = builtFiles("web").get("index.html");
  const content = page?.bodies.at(-1)?.[1];
  return page && content && { status: 200, type: page.type, content, headers: PAGE_HEADERS };
}
