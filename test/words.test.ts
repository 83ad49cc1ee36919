import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sourceFiles } from "./support/imports.ts";
import { SHOWN, summaries } from "./support/shown-texts.ts";

const root = join(import.meta.dirname, "..");

/** Words that make readers stop, with a replacement. Only words that are never right are listed. */
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
const files = [...sources, ...texts, "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].filter(
  (file) => file !== "test/words.test.ts",
);

it("uses plain words in names, comments, messages and pages", () => {
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

/** Words in texts that people see, with a replacement: those of the glossary that a pattern can find. */
const UNCLEAR: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bunder way\b/i, "`in progress`, `unfinished`, `running` or `in flight`"],
  [/\b(?:go|goes|going|gone|went) on\b(?! conflict)/i, "`continue`, `resume` or `keep running`"],
  [/\banew\b/i, "`again`, `from the start` or `re-`"],
  [/\bin vain\b/i, "what failed"],
  [/\bfor ever\b|\bfor good\b/i, "`forever` or `permanently`"],
  [/(?<!\bthere )\bis no (?!longer\b|more\b)[a-z]/i, "`is not a`"],
  [/\b(?:No such|[Tt]here is no such|has no such version)\b/, "`... not found`"],
  [/\btaken over\b/i, "`reused`"],
  [/\b(?:tried|made|asked) again\b|\bonce more\b/i, "`retried`, `again`"],
  [/\b(?:some|no|every)body\b/i, "`someone`, `no one`, `everyone`, or the role"],
  [/\bwhoever\b|\bwho operates\b/i, "`the operator`, `anyone who`"],
  [/\bone's own\b/i, "whose it is"],
  [/\bof before\b/i, "`earlier`"],
  [/\bso (?:long|many|much)\b(?! (?:as|that)\b)/i, "the duration or the number"],
  [/\bthe present (?:one|version|state|setting|value)s?\b/i, "`current`"],
  [/\bleft out\b/i, "`omitted`"],
  [/\bnull: [a-z]|\bNull (?:where|when|until|unless|if)\b/, "`` `null` means ... ``, `` `null` if ... ``"],
  [/\bcompared exactly\b/i, "`must match exactly`"],
  [/\bgive it more than once\b/i, "`Repeat the parameter for several.`"],
  [/\b(?:a hundred|fifty|some \d+) at most\b/i, "`up to ...`"],
  [/\bsub-(?:flow|run)s?\b/i, "`child run` or `subflow`"],
  [/\b(?:locked|lock|let) (?:out|in)\b(?! (?:the|a|an)\b)/i, "`disable`, `enable`"],
  [/\bnever again\b/i, "`Copy it now. You cannot see it again.`"],
  [/\banswer(?:s|ed)? (?:a|an|with|by)?\s*\d{3}\b/i, "`returns ...`"],
  [/\b(?:It is|They are) gone\b/i, "`Deleted.`"],
  [/\bWhat helps\b/i, "`How to fix`"],
];
/** Parts of the product whose texts are checked. */
const PARTS: ReadonlyArray<keyof typeof SHOWN> = ["api", "console", "server", "commands", "pages", "changelog"];

it.each(PARTS)("uses words that a stranger understands in the texts of: %s", (part) => {
  // A phrase may continue after a line break.
  const patterns = UNCLEAR.map(
    ([{ source, flags }, instead]) => [new RegExp(source.replaceAll(" ", "\\s+"), `${flags}g`), instead] as const,
  );
  const found = SHOWN[part]().flatMap(({ text, at }) =>
    patterns.flatMap(([words, instead]) =>
      [...text.matchAll(words)].map(({ 0: match, index }) => `${at(index)} "${match}": write ${instead}`),
    ),
  );
  expect(found).toEqual([]);
});

/** Verbs with which the summary of an operation begins. */
const VERBS = new Set(
  (
    "Abort Add Answer Call Cancel Change Check Compare Correct Count Create Decide Decrypt Delete Deploy Download Encrypt End " +
    "Erase Evaluate Find Finish Fire Get Import List Preview Promote Propose Publish Read Redeliver Redirect Remove Replay Restore Revoke Roll Rotate " +
    "Run Save Score Search Send Set Sign Start Subscribe Sync Test Upload Validate"
  ).split(" "),
);

it("begins each summary of an operation with a verb", () => {
  const others = summaries().filter((summary) => !VERBS.has(/^[A-Z][a-z]+/.exec(summary)?.[0] ?? ""));
  expect(others).toEqual([]);
});
