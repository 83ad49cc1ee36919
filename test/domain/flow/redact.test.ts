import { describe, expect, it } from "vitest";
import { parseRedactPaths, redact, type RedactPath } from "../../../src/domain/flow/redact.ts";
import type { Json } from "../../../src/domain/json.ts";

function paths(...sources: string[]): readonly RedactPath[] {
  const parsed = parseRedactPaths(sources);
  if (!parsed.ok) throw new Error(parsed.problems.map(({ message }) => message).join());
  return parsed.paths;
}
const masked = (value: Json, source: string, root: string[] = []) => redact(value, paths(source), root);

describe("redaction", () => {
  it("masks what a path names and nothing else", () => {
    const value = { nodes: { "http-0": { output: { body: { token: "s", other: 1 } } } } };
    expect(masked(value, '$.nodes["http-0"].output.body.token')).toEqual({
      nodes: { "http-0": { output: { body: { token: "[redacted]", other: 1 } } } },
    });
    expect(masked(value, "$.nodes.http-0.output.body.token")).toEqual(
      masked(value, "$.nodes['http-0']['output'][\"body\"].token"),
    );
  });

  it("compares paths with the location of the value", () => {
    expect(
      masked({ body: { token: "s" } }, '$.nodes["http-0"].output.body.token', ["nodes", "http-0", "output"]),
    ).toEqual({ body: { token: "[redacted]" } });
    expect(
      masked({ body: { token: "s" } }, '$.nodes["http-0"].output.body.token', ["nodes", "http-1", "output"]),
    ).toEqual({ body: { token: "s" } });
    expect(masked("all of it", "$.inputs.in-0", ["inputs", "in-0"])).toBe("[redacted]");
    expect(masked({ deep: 1 }, "$.inputs.in-0", ["inputs", "in-0", "deeper"])).toBe("[redacted]");
  });

  it("finds names at any depth, lists included", () => {
    const value = { a: [{ password: 1 }, { b: { password: { c: 2 } } }], password: null };
    expect(masked(value, "$..password")).toEqual({
      a: [{ password: "[redacted]" }, { b: { password: "[redacted]" } }],
      password: "[redacted]",
    });
    expect(masked({ x: { a: { b: 1 } }, a: { c: 1 } }, "$..a.b")).toEqual({
      x: { a: { b: "[redacted]" } },
      a: { c: 1 },
    });
    expect(masked({ password: "s" }, "$..password", ["nodes", "x", "output"])).toEqual({ password: "[redacted]" });
  });

  it("matches any field or index with *", () => {
    expect(masked({ a: [{ x: 1, y: 2 }], b: { c: { x: 3 } } }, "$.*.*.x")).toEqual({
      a: [{ x: "[redacted]", y: 2 }],
      b: { c: { x: "[redacted]" } },
    });
    expect(masked({ list: [1, 2] }, "$.list[1]")).toEqual({ list: [1, "[redacted]"] });
    expect(masked({ list: [1, 2] }, "$.list[*]")).toEqual({ list: ["[redacted]", "[redacted]"] });
  });

  it("returns the same object if no path matches", () => {
    const value = { a: [1, { b: 2 }] };
    expect(masked(value, "$..token")).toBe(value);
  });

  it("masks an input also as its node's output, and a run output also as its node's output", () => {
    expect(masked({ text: "s" }, "$.inputs.url-0", ["nodes", "url-0", "output"])).toBe("[redacted]");
    expect(masked({ a: "s" }, "$.outputs.out-0.a", ["nodes", "out-0", "output"])).toEqual({ a: "[redacted]" });
    expect(masked({ a: "s" }, "$.nodes.out-0.output.a", ["outputs", "out-0"])).toEqual({ a: "[redacted]" });
    expect(masked("s", "$.nodes.*.output", ["inputs", "in-0"])).toBe("[redacted]");
  });

  it("treats __proto__ as an ordinary key", () => {
    const value = JSON.parse('{"__proto__":{"token":"s"},"token":"t"}') as Json;
    expect(JSON.stringify(masked(value, "$..token"))).toBe('{"__proto__":{"token":"[redacted]"},"token":"[redacted]"}');
    expect(({} as Record<string, unknown>)["token"]).toBeUndefined();
  });

  it("masks values that are nested too deeply to be searched", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}{"token":"s"}${"}".repeat(5000)}`) as Json;
    expect(JSON.stringify(masked(deep, "$..token"))).not.toContain('"s"');
    expect(masked(deep, "$.b.c")).toBe(deep);
  });

  it("is fast with many paths and many values", () => {
    const value = Array.from({ length: 20_000 }, (_, index) => ({ id: index, user: { name: "x", password: "s" } }));
    const start = performance.now();
    redact(value, paths(...Array.from({ length: 100 }, (_, index) => `$..a${index}..*..password`)), []);
    expect(performance.now() - start).toBeLessThan(25_000);
  });
});

describe("redaction paths", () => {
  it.each([
    "$.a",
    "$.in-0",
    "$..a",
    "$.*",
    "$[*]",
    "$..*",
    '$["a b"]',
    "$['it\\'s']",
    '$["\\"]"]',
    "$.a[0].b",
    "$..[0]",
    '$..["x"]',
    "$.0",
  ])("may be %s", (source) => {
    expect(parseRedactPaths([source]).ok).toBe(true);
  });

  it.each([
    "",
    "a",
    "$",
    "$.",
    "$..",
    "$a",
    "$.a.",
    "$.a[",
    "$[a]",
    "$[-1]",
    "$[1:2]",
    "$[?(@.x)]",
    "$.a b",
    "$['a\"]",
    "$.[0]",
    "$...a",
    `$${".a".repeat(33)}`,
    `$.${"a".repeat(600)}`,
  ])("may not be %j", (source) => {
    expect(parseRedactPaths(["$.fine", source])).toMatchObject({ ok: false, problems: [{ index: 1 }] });
  });
});
