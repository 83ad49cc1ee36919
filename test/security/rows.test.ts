import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** Kinds of bad input that broke similar systems; each has tests that carry its name. */
const ROWS = [
  "content-confusion",
  "expression-escape",
  "double-render",
  "code-escape",
  "proto-pollution",
  "ssrf",
  "path-traversal",
  "cross-tenant",
  "trusted-header",
  "sql-by-filter-key",
  "run-carries-code",
  "secret-in-error",
  "zip-bomb",
  "pdf-bomb",
  "style-map ReDoS",
  "XXE",
  "regex-dos",
  "oversized value",
  "mcp-stdio",
  "webhook-abuse",
  "deep-json",
  "huge-list",
  "wide-flow",
  "redos-in-path",
  "host-header",
  "crlf",
  "injected-instructions",
  "search-tenant",
  "openapi-ssrf",
  "mcp-ssrf",
  "trigger-forgery",
  "model-file",
  "csv-formula",
  "secret-by-dry-run",
  "runaway-agent",
  "redos-own",
  "poison-run",
  "noisy-neighbour",
  "self-call",
  "sign-in-flood",
  "wide-json",
  "metrics-leak",
  "quote-leak",
  "weak-key",
  "tool-rug-pull",
  "pooler",
  "console-xss",
  "console-csrf",
  "clickjacking",
  "unpublished-version",
  "viewer-secrets",
  "project-escape",
  "unverified-address",
  "draft-leak",
  "public-page",
];

const tests = fileURLToPath(new URL("../", import.meta.url));
/** Names of tests and test groups, including those with tables. */
const TITLES = /(?:\b(?:describe|it)(?:\.\w+)*\(|[\])]\)\()\s*["'`]([^"'`\n]*)/g;
const titles = readdirSync(tests, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.test\.tsx?$/.test(name) && !name.endsWith("rows.test.ts"))
  .flatMap((name) => [...readFileSync(join(tests, name), "utf8").matchAll(TITLES)].map(([, title = ""]) => title));

it.each(ROWS)("a test has %s in its name", (row) => {
  expect(titles.filter((title) => title.includes(row))).not.toEqual([]);
});
