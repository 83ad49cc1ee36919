import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sourceFiles } from "./support/imports.ts";

const root = join(import.meta.dirname, "..");

/** Words that made readers stop, and what to write instead. Only what is never right is a line here. */
const BANNED: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bthose that\b/gi, "the noun, or `the ones that`"],
  [/\bof which\b/gi, "a sentence of its own, or `and ... of them`"],
  [/\bby itself\b/gi, "`automatically` or `alone`"],
  [/\btold (?:of|from)\b/gi, "`notified of`, `distinguished from`"],
  [/\bwhat has become of\b/gi, "`the state of`"],
  [/\bbegun\b|[a-z]Begun\b/gi, "`started`"],
  [/(?:^|[.:] |\* |\/\/ )(?:Shown|Kept|Meant|Told|Counted|Found|Asked|Written) (?:is|are)\b/gm, "the subject first"],
  [
    /\b(?:passesOn|passedOn|passOn|notePart|nobodyWaits)\b|atRest\b/g,
    "the field's word: forward, report, asynchronous, idle",
  ],
];

const texts = ["docs", "examples"].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name)),
);
const sources = sourceFiles("src", "workflows", "activities", "web", "bench", "test");
const files = [...sources, ...texts, "README.md", "CHANGELOG.md"].filter((file) => file !== "test/words.test.ts");

it("keeps to plain words in names, comments, messages and pages", () => {
  const found = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return BANNED.flatMap(([words, instead]) =>
      [...text.matchAll(words)].map((match) => {
        const line = text.slice(0, match.index).split("\n").length;
        return `${file}:${line} "${match[0].trim()}": write ${instead}`;
      }),
    );
  });
  expect(found).toEqual([]);
});
