import type { JSX } from "react";
import { around, diffLines, differences } from "./differences.ts";
import type { DiffLine, Difference } from "./differences.ts";
import "./diff.css";

/** Places, lines and characters that are shown: what is longer is cut, whatever the values are. */
const PLACES = 100;
const LINES = 200;
const CONTEXT = 2;
const LONG_TEXT = 40_000;
const EXCERPT = 160;

/** What is different between two JSON values: place by place, texts line by line. */
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
  if (found.length === 0) return <p className="muted small">The same.</p>;
  return (
    <div className="diff value-box" role="group" aria-label={label} tabIndex={0}>
      {found.slice(0, PLACES).map((difference) => (
        <Place key={difference.at} difference={difference} />
      ))}
      {found.length > PLACES && <p className="small muted">More is different; these are the first {PLACES} places.</p>}
    </div>
  );
}

function Place({ difference: { at, before, after } }: { readonly difference: Difference }): JSX.Element {
  return (
    <div className="diff-place">
      {at !== "" && <code className="muted">{at}</code>}
      {linesOf(before, after).map(({ kind, text }, index) => (
        <pre key={index} className={`diff-${kind}`}>
          <span aria-hidden="true">{MARKS[kind]}</span>
          {kind !== "same" && <span className="visually-hidden">{kind === "before" ? "Before: " : "After: "}</span>}
          {text}
        </pre>
      ))}
    </div>
  );
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

/** The lines that are different, each with a few around it. */
function changed(lines: readonly DiffLine[]): DiffLine[] {
  const near = (at: number): boolean =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== "same");
  return lines.filter((_, at) => near(at)).slice(0, LINES);
}

const textOf = (value: unknown): string | null =>
  value === undefined ? null : typeof value === "string" ? value : JSON.stringify(value, null, 2);
const cut = (text: string): string => (text.length > 2 * EXCERPT ? `${text.slice(0, 2 * EXCERPT)}…` : text);
