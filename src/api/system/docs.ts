import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { operationsOf, type Operation } from "../http/operation.ts";
import { consolePage } from "./console.ts";

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>Millrace API</title>
<p>This page has not been built (npm run build). The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`;

const define = operationsOf({ tag: "Service", auth: "none" });

/** `/openapi.json` and `/docs`, the console page that shows it; it loads nothing from other origins. */
export function docsOperations(document: () => unknown): Operation[] {
  let served: { readonly text: string; readonly zipped: Buffer; readonly etag: string } | undefined;

  function serve() {
    const text = JSON.stringify(document());
    const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
    return { text, zipped: gzipSync(text), etag };
  }

  return [
    define({
      id: "getOpenApi",
      route: "GET /openapi.json",
      summary: "Get this document",
      description:
        "Returns this OpenAPI 3.1 document. It is generated from the schemas that validate requests and responses.",
      success: { 200: { description: "The OpenAPI 3.1 document.", schema: z.record(z.string(), z.unknown()) } },
      async handler({ ctx }) {
        const { text, zipped, etag } = (served ??= serve());
        ctx.vary("Accept-Encoding");
        const caching = { ETag: etag, "Cache-Control": "no-cache", "Access-Control-Allow-Origin": "*" };
        if (ctx.get("if-none-match") === etag) return { status: 304, headers: caching };
        const type = "application/json";
        if (ctx.acceptsEncodings("gzip", "identity") !== "gzip")
          return { status: 200, type, content: text, headers: caching };
        return { status: 200, type, content: zipped, headers: { ...caching, "Content-Encoding": "gzip" } };
      },
    }),
    define({
      id: "getRoot",
      route: "GET /",
      summary: "Redirect to the API reference",
      description: "Redirects a browser to `/docs`, the API reference.",
      looseQuery: true,
      success: { 302: { description: "Redirect to `/docs`.", headers: { Location: "URL of the API reference." } } },
      async handler() {
        return { status: 302, headers: { Location: "/docs" } };
      },
    }),
    define({
      id: "getDocs",
      route: "GET /docs",
      summary: "Get the API reference",
      description:
        "Returns a page generated from this document. It loads nothing from other hosts. `/docs#createRun` shows one operation.",
      success: { 200: { description: "The page.", content: { "text/html": null } } },
      async handler() {
        return consolePage() ?? { status: 200, type: "text/html; charset=utf-8", content: NOT_BUILT };
      },
    }),
  ];
}
