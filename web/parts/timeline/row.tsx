import { memo, type JSX } from "react";
import { Icon } from "../icons.tsx";
import { lookOf } from "../status.tsx";
import { duration } from "../time.tsx";
import type { Span, TimelineBar, TimelineRow } from "./rows.ts";

/** All rows have this height (pixels, same as in the style sheet), so the visible rows are known without drawing any. */
export const ROW_HEIGHT = 32;
const INDENT = 16;
const CHEVRON = 26;
/** Bars drawn per row; a node may have a hundred attempts. */
const BARS = 400;

export const Row = memo(function Row({
  row,
  at,
  span,
  now,
  isSelected,
  onSelect,
  onFold,
}: {
  readonly row: TimelineRow;
  readonly at: number;
  readonly span: Span;
  readonly now: number;
  readonly isSelected: boolean;
  readonly onSelect: (id: string) => void;
  readonly onFold: (id: string, open: boolean) => void;
}): JSX.Element {
  const { word, tone, icon } = lookOf(row.state);
  const indent = 4 + Math.min(row.depth, 6) * INDENT;
  return (
    <div
      className={`timeline-row tone-${tone} ${isSelected ? "timeline-row-selected" : ""}`}
      style={{ transform: `translateY(${at * ROW_HEIGHT}px)` }}
      data-row-at={at}
    >
      {row.open !== null && (
        <button
          type="button"
          className="timeline-chevron"
          style={{ insetInlineStart: indent }}
          aria-expanded={row.open}
          aria-label={`Contents of ${row.label}`}
          onClick={() => onFold(row.id, !row.open)}
        >
          <Icon name="chevron" className={row.open ? "chevron-open" : ""} />
        </button>
      )}
      <button
        type="button"
        className="timeline-choose"
        aria-pressed={isSelected}
        data-at={at}
        onClick={() => onSelect(row.id)}
      >
        <span className="timeline-name" style={{ paddingInlineStart: indent + CHEVRON }}>
          <Icon name={icon} />
          <span title={row.id}>
            {row.label}
            {row.second !== null && <code className="timeline-second"> {row.second}</code>}
          </span>
          <span className="visually-hidden">{word}</span>
          {row.note !== null && <span className="small muted">{row.note}</span>}
        </span>
        <span className="timeline-track">
          {row.bars.slice(0, BARS).map((bar) => (
            <Bar key={`${bar.kind}${bar.from}`} bar={bar} span={span} now={now} />
          ))}
        </span>
        <span className="timeline-took">{tookOf(row.bars, now)}</span>
      </button>
    </div>
  );
});

function Bar({
  bar,
  span,
  now,
}: {
  readonly bar: TimelineBar;
  readonly span: Span;
  readonly now: number;
}): JSX.Element | null {
  const from = Date.parse(bar.from);
  const to = bar.to === null ? Math.max(now, from) : Date.parse(bar.to);
  if (to < span.from || from > span.to) return null;
  const share = (at: number): number =>
    (Math.min(Math.max(at, span.from), span.to) - span.from) / (span.to - span.from);
  const [left, right] = [share(from) * 100, share(to) * 100];
  return (
    <span
      className={`timeline-bar timeline-${bar.kind} tone-${bar.tone}`}
      title={`${bar.title}, ${duration(to - from)}`}
      style={{ left: `min(${left}%, 100% - 3px)`, width: `${right - left}%` }}
    />
  );
}

function tookOf(bars: readonly TimelineBar[], now: number): string {
  const [first] = bars;
  const last = bars.at(-1);
  if (!first || !last) return "-";
  return duration((last.to === null ? now : Date.parse(last.to)) - Date.parse(first.from));
}
