import { describe, expect, it } from "vitest";
import { parseRedactPaths } from "../../../src/domain/flow/redact.ts";
import { maskQuoted } from "../../../src/domain/flow/redacted-texts.ts";
import type { Json } from "../../../src/domain/json.ts";

function masked(message: string, secret: Json): string {
  const parsed = parseRedactPaths(["$.inputs.secret"]);
  if (!parsed.ok) throw new Error("the path is not understood");
  return maskQuoted(message, parsed.paths, { inputs: { secret, open: "an open value" }, nodes: {} });
}

describe("quote-leak: a message that quotes redacted values", () => {
  it.each<[what: string, message: string, secret: Json, clean: string]>([
    ["a text", "It was Ada Lovelace.", "Ada Lovelace", "It was [redacted]."],
    ["a text within JSON", 'It was "say \\"no\\""', 'say "no"', 'It was "[redacted]"'],
    ["members of a value", "ada@example.org: 4711", { mail: "ada@example.org", pin: 4711 }, "[redacted]: [redacted]"],
    ["one that is part of another", "a-long-secret", ["a-long", "a-long-secret"], "[redacted]"],
    ["ones that overlap", "abcdefghi", ["abcdef", "defghi"], "[redacted]"],
    ["one that overlaps itself", "ababababa", "ababa", "[redacted]"],
    ["short ones, as words", "no, not no1", "no", "[redacted], not no1"],
    ["words of the mask", "redacted: secret", ["redacted", "secret"], "[redacted]: [redacted]"],
    ["the beginning of one, where the message is cut", "It was Ada L…", "Ada Lovelace", "It was [redacted]…"],
    ["no such beginning, where it is not cut", "It was Ada L", "Ada Lovelace", "It was Ada L"],
    ["an open value", "It was an open value", "Ada Lovelace", "It was an open value"],
  ])("is masked: %s", (_, message, secret, clean) => {
    expect(masked(message, secret)).toBe(clean);
  });

  it("is masked completely if there are too many values to search for", () => {
    const names = Array.from({ length: 20_000 }, (_, n) => `name-${n}`);
    expect(masked("It was name-77.", names.slice(70, 80))).toBe("It was [redacted].");
    expect(masked("It was name-19999.", names)).toBe("[redacted]");
  });

  it("redos-own: costs little, however many long values share the message's beginning", { timeout: 10_000 }, () => {
    const values = Array.from({ length: 1000 }, (_, n) => `${"a".repeat(2000)}${n}${"c".repeat(2000)}`);
    expect(masked(`${"a".repeat(4095)}…`, values)).toBe("[redacted]");
    expect(masked(`${"a".repeat(4095)}…`, values.slice(0, 5))).toBe(`${"a".repeat(2095)}[redacted]…`);
  });
});
