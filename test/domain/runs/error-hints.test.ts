import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HINTED_CODES, hintOf } from "../../../src/domain/runs/error-hints.ts";

const SOURCES = ["src", "activities", "workflows"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith("error-hints.ts"))
    .map((name) => readFileSync(join(folder, name), "utf8")),
);
/** Codes whose messages already say how to fix the error, with the numbers involved. */
const SAY_ALL = [
  "invalid_messages",
  "iteration_limit_reached",
  "iterations_exhausted",
  "model_not_priced",
  "pause_too_large",
  "skill_file_is_no_text",
  "skill_file_too_long",
  "subflow_too_deep",
  "too_many_documents",
  "too_many_tools",
  "tool_calls_exhausted",
  "tool_steps_exhausted",
  "until_not_a_time",
  "value_not_storable",
];

describe("the hints of errors", () => {
  it("exist for every code that nodes fail with, unless the message needs none", () => {
    const thrown = SOURCES.flatMap((source) =>
      [...source.matchAll(/new NodeFailure\(\s*"([a-z_]+)"/g)].map(([, code = ""]) => code),
    );
    expect(thrown.length).toBeGreaterThan(40);
    const without = new Set(thrown.filter((code) => hintOf(code) === null));
    expect([...without].toSorted()).toEqual(SAY_ALL.toSorted());
  });

  it("exist only for codes that the source uses", () => {
    const gone = HINTED_CODES.filter((code) => !SOURCES.some((source) => source.includes(`"${code}"`)));
    expect(gone).toEqual([]);
  });

  it.each([
    [401, /credential/],
    [403, /credential/],
    [404, /URL/],
    [409, /changed/],
    [422, /inputs/],
    [429, /rate limiting/],
    [408, /not respond in time/],
    [500, /The server failed/],
    [503, /The server failed/],
    [418, /rejected the request/],
    [302, /not what the node expects/],
  ])("explain the status %s", (status, words) => {
    const hint = hintOf("http_status", status);
    expect(hint).toMatch(words);
    if (status !== 401 && status !== 403) expect(hint).not.toMatch(/credential/);
  });

  it("do not mention credentials if the status is unknown, and vary with the status only for http_status", () => {
    expect(hintOf("http_status")).not.toMatch(/credential/);
    expect(hintOf("action_refused", 503)).toBe(hintOf("action_refused"));
  });

  it("are not found under an inherited property name", () => {
    expect([hintOf("constructor"), hintOf("unheard_of")]).toEqual([null, null]);
  });
});
