import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { RequestContext } from "../http/operation.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
/** The build writes this stamp into a folder when it is complete. */
const STAMP = ".sources";

/** A file of a built web page. */
export interface BuiltFile {
  readonly type: string;
  readonly etag: string;
  /** Files by content coding, best first; the last is the file itself. */
  readonly bodies: ReadonlyArray<readonly [coding: "br" | "gzip" | "identity", bytes: Buffer]>;
}

export type BuiltFiles = ReadonlyMap<string, BuiltFile>;

const known = new Map<string, BuiltFiles>();

/**
 * The files of a folder beside the compiled code, by their paths in it; none before the folder is built. Read only once, so that a page and
 * the files it names belong to one build. All of it is in memory: some hundred kilobytes.
 */
export function builtFiles(folder: "web" | "web-public"): BuiltFiles {
  const files = known.get(folder) ?? loadFiles(fileURLToPath(new URL(`../../../${folder}/`, import.meta.url)));
  known.set(folder, files);
  return files;
}

/** Responds with a file in the best content coding, or with 304 if the client has it. */
export function sendBuilt(ctx: RequestContext, file: BuiltFile, headers: Readonly<Record<string, string>>): void {
  ctx.set({ ...headers, ETag: file.etag });
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
}

/** Cached without a limit, because the name changes with the content. */
export const UNLIMITED = "public, max-age=31536000, immutable";

function loadFiles(folder: string): Map<string, BuiltFile> {
  const files = new Map<string, BuiltFile>();
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
