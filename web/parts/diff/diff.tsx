import type { JSX } from "react";
import { beginning } from "../../../src/domain/marks.ts";
import { around, diffLines, diffWords, differences, type DiffLine, type Difference } from "../../flow/differences.ts";
import "../value.css";
import "./diff.css";

/** Locations, lines and characters shown at most, whatever the size of the values. */
const PLACES = 100;
const LINES = 200;
const CONTEXT = 2;
const LONG_TEXT = 40_000;
const EXCERPT = 160;

/** Differences between two JSON values: by location, and texts line by line. */
export function Diff({
  before,
  after,
  label,
}: {
  readonly before: unknown;
  readonly after: unknown;
  readonly label: string;
}): JSX.Element {
  const found = differences(before, after, PLACES + 1);
  if (found.length === 0) return <p className="muted small">No differences.</p>;
  return (
    <div className="diff value-box" role="group" aria-label={label} tabIndex={0}>
      {found.slice(0, PLACES).map((difference) => (
        <Place key={difference.at} difference={difference} />
      ))}
      {found.length > PLACES && <p className="small muted">Showing the first {PLACES} differences.</p>}
    </div>
  );
}

function Place({ difference: { at, before, after } }: { readonly difference: Difference }): JSX.Element {
  const words = wordsOf(before, after);
  return (
    <div className="diff-place">
      {at !== "" && <code className="muted">{at}</code>}
      {words && <Words words={words} />}
      {(words ? [] : linesOf(before, after)).map(({ kind, text }, index) => (
        <pre key={index} className={`diff-${kind}`}>
          <span aria-hidden="true">{MARKS[kind]}</span>
          {kind !== "same" && <span className="visually-hidden">{kind === "before" ? "Before: " : "After: "}</span>}
          {text}
        </pre>
      ))}
    </div>
  );
}

/** Longest text that is compared word by word, and the smallest part of it that must be the same. */
const WORDY_TEXT = 8000;
const SAME_PART = 0.25;

/** Two texts word by word; null if they are too long, or have little in common, so that whole lines are easier to read. */
function wordsOf(before: unknown, after: unknown): DiffLine[] | null {
  if (typeof before !== "string" || typeof after !== "string" || before.length + after.length > WORDY_TEXT) return null;
  const words = diffWords(before, after);
  const same = words.reduce((sum, { kind, text }) => sum + (kind === "same" ? text.trim().length : 0), 0);
  return same < SAME_PART * Math.max(before.length, after.length) ? null : words;
}

/** A changed text with its removed and added words in their places. Long parts that are the same are shortened. */
function Words({ words }: { readonly words: readonly DiffLine[] }): JSX.Element {
  return (
    <pre>
      {words.map(({ kind, text }, at) => {
        if (kind === "before")
          return (
            <del key={at} className="diff-before">
              {text}
            </del>
          );
        if (kind === "after")
          return (
            <ins key={at} className="diff-after">
              {text}
            </ins>
          );
        return <span key={at}>{shortened(text, at > 0, at < words.length - 1)}</span>;
      })}
    </pre>
  );
}

/** A text between two changes, without its middle; without its beginning or end where no change is there. */
function shortened(text: string, hasBefore: boolean, hasAfter: boolean): string {
  const [start, end] = [hasBefore ? EXCERPT : 0, hasAfter ? EXCERPT : 0];
  if (text.length <= start + end + 1) return text;
  return `${beginning(text, start)}…${end === 0 ? "" : text.slice(-end).replace(/^[\uDC00-\uDFFF]/, "")}`;
}

const MARKS = { same: "  ", before: "- ", after: "+ " } as const;

function linesOf(before: unknown, after: unknown): DiffLine[] {
  const [one, other] = [textOf(before), textOf(after)];
  if (one === null) return other === null ? [] : [{ kind: "after", text: cut(other) }];
  if (other === null) return [{ kind: "before", text: cut(one) }];
  if (one.includes("\n") && other.includes("\n") && one.length + other.length < LONG_TEXT)
    return changed(diffLines(one, other));
  const [left, right] = around(one, other, EXCERPT);
  return [
    { kind: "before", text: left },
    { kind: "after", text: right },
  ];
}

/** The lines that differ, each with a few lines of context. */
function changed(lines: readonly DiffLine[]): DiffLine[] {
  const near = (at: number): boolean =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== "same");
  return lines.filter((_, at) => near(at)).slice(0, LINES);
}

const textOf = (value: unknown): string | null =>
  value === undefined ? null : typeof value === "string" ? value : JSON.stringify(value, null, 2);
const cut = (text: string): string => (text.length > 2 * EXCERPT ? `${beginning(text, 2 * EXCERPT)}…` : text);
