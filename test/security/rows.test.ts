import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Kinds of bad input that broke systems like this one: each has tests that carry its name. */
const ROWS = [
  "content-confusion",
  "expression-escape",
  "double-render",
  "code-escape",
  "proto-pollution",
  "ssrf",
  "webhook-abuse",
  "path-traversal",
  "cross-tenant",
  "trusted-header",
  "run-carries-code",
  "secret-in-error",
  "pdf-bomb",
  "regex-dos",
  "oversized value",
  "deep-json",
  "huge-list",
  "wide-flow",
  "redos-in-path",
  "host-header",
  "crlf",
  "noisy-neighbour",
  "unpublished-version",
  "viewer-secrets",
];

it.each(ROWS)("%s is tested from end to end, by that name", (row) => {
  const folder = new URL("./", import.meta.url);
  const titles = [
    "cross-tenant.test.ts",
    "hostile-flows.test.ts",
    "hostile-requests.test.ts",
    "noisy-neighbour.test.ts",
    "unpublished-version.test.ts",
    "viewer-secrets.test.ts",
  ].flatMap((name) => [
    ...readFileSync(new URL(name, folder), "utf8").matchAll(/\b(?:describe|it)(?:\.each)?\(\s*"([^"]*)"/g),
  ]);
  expect(titles.filter(([, title = ""]) => title.includes(row))).not.toEqual([]);
});
