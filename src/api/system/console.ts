import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Middleware } from "koa";
import { Problem } from "../../domain/errors.ts";
import type { ContentAnswer, RequestState } from "../http/operation.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
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
/** The folder beside the compiled code. The build writes a stamp into it, which the console's sources do not have. */
const FOLDER = fileURLToPath(new URL("../../../web/", import.meta.url));
const STAMP = ".sources";

interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  /** Files by content coding, best first; the last is the file itself. */
  readonly bodies: ReadonlyArray<readonly [coding: "br" | "gzip" | "identity", bytes: Buffer]>;
}

/**
 * Serves the built console: its files with an unlimited cache time, since their names change with their contents, and its page for every
 * other path below `/console`, which decides what to show. All of it is in memory: some hundred kilobytes.
 */
export function consoleFiles(): Middleware<RequestState> {
  const files = builtFiles();
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
    ctx.set({ ...PAGE_HEADERS, ETag: file.etag });
    if (isAsset) ctx.set("Cache-Control", "public, max-age=31536000, immutable");
    ctx.vary("Accept-Encoding");
    if (ctx.get("If-None-Match").includes(file.etag)) {
      ctx.status = 304;
      return;
    }
    const accepted = ctx.acceptsEncodings(file.bodies.map(([coding]) => coding));
    const [coding, bytes] = file.bodies.find(([each]) => each === accepted) ?? file.bodies.at(-1) ?? [];
    if (coding !== "identity" && coding !== undefined) ctx.set("Content-Encoding", coding);
    ctx.type = file.type;
    ctx.body = bytes;
  };
}

/** The console's page for paths outside `/console` that it also shows; undefined if it has not been built. */
export function consolePage(): ContentAnswer | undefined {
  const page = builtFiles().get("index.html");
  const content = page?.bodies.at(-1)?.[1];
  return page && content && { status: 200, type: page.type, content, headers: PAGE_HEADERS };
}

let built: Map<string, ConsoleFile> | undefined;
/** Read only once, so that a page and the files it names belong to one build. */
const builtFiles = (): Map<string, ConsoleFile> => (built ??= loadFiles(FOLDER));

function loadFiles(folder: string): Map<string, ConsoleFile> {
  const files = new Map<string, ConsoleFile>();
  if (!existsSync(join(folder, STAMP))) return files;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const type = TYPES[extname(name)];
    const path = join(folder, name);
    if (type === undefined || !statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    const compressed = (["br", "gzip"] as const).flatMap((coding) => {
      const beside = `${path}.${coding === "br" ? "br" : "gz"}`;
      return existsSync(beside) ? [[coding, readFileSync(beside)] as const] : [];
    });
    files.set(name.split(sep).join("/"), { type, etag, bodies: [...compressed, ["identity", bytes]] });
  }
  return files;
}
