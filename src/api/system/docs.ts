import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Millrace API</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="swagger-ui">
      <h1>Millrace API</h1>
      <p>Every operation of this service, to read and to try. Without scripts, read the OpenAPI document at <code>/openapi.json</code>.</p>
    </div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;
/** A file of its own, so that the page needs no inline script. Without validatorUrl: null it would ask a server outside. */
const START = `window.ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
  // A request has a credential or the console's session, never both.
  requestInterceptor: (request) => (request.headers.Authorization ? { ...request, credentials: "omit" } : request),
});
`;
const FILES: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
};
const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
/** Everything from here, nothing inline but the icons that the style sheet carries. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `/openapi.json` and `/docs`, the page that shows it; it loads nothing from elsewhere. */
export function createDocsOperations(document: () => unknown): Operation[] {
  const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  const common = { method: "GET", tag: "Service", auth: "none" } as const;
  const headers = { "Content-Security-Policy": POLICY, "Cache-Control": "no-cache" };
  let text: string | undefined;

  return [
    defineOperation({
      ...common,
      id: "getOpenApi",
      path: "/openapi.json",
      summary: "This document",
      description: "OpenAPI 3.1, made from the schemas that check requests and shape answers.",
      success: { 200: { description: "OpenAPI 3.1.", schema: z.record(z.string(), z.unknown()) } },
      async handler({ ctx }) {
        text ??= JSON.stringify(document());
        const etag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
        const caching = { ETag: etag, "Cache-Control": "no-cache", "Access-Control-Allow-Origin": "*" };
        if (ctx.get("if-none-match") === etag) return { status: 304, headers: caching };
        return { status: 200, type: "application/json", content: text, headers: caching };
      },
    }),
    defineOperation({
      ...common,
      id: "getRoot",
      path: "/",
      summary: "Leads to the API reference",
      description: "A browser is led to `/docs`.",
      looseQuery: true,
      success: { 302: { description: "To `/docs`.", headers: { Location: "The reference." } } },
      async handler() {
        return { status: 302, headers: { Location: "/docs" } };
      },
    }),
    defineOperation({
      ...common,
      id: "getDocs",
      path: "/docs",
      summary: "The API reference",
      description: "A page that is made from this document and loads nothing from elsewhere.",
      success: { 200: { description: "A page.", content: { "text/html": null } } },
      async handler() {
        return { status: 200, type: HTML, content: PAGE, headers };
      },
    }),
    defineOperation({
      ...common,
      id: "getDocsFile",
      path: "/docs/{file}",
      summary: "A part of the API reference",
      description: "A part of the page at `/docs`.",
      undocumented: true,
      params: z.object({ file: z.string() }),
      success: { 200: { description: "The file.", content: { "*/*": null } } },
      async handler({ params: { file } }) {
        if (file === "start.js") return { status: 200, type: SCRIPT, content: START, headers };
        const type = Object.hasOwn(FILES, file) ? FILES[file] : undefined;
        if (type === undefined) throw notFound("file");
        return { status: 200, type, content: createReadStream(join(folder, file)), headers };
      },
    }),
  ];
}
