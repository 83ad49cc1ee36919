import { useEffect, useRef, useState, type JSX } from "react";
import { Icon } from "../icons.tsx";
import { duration, useNow } from "../time.tsx";
import { moved, ticksOf, zoomed, type Span, type TimelineRow } from "./rows.ts";
import { ROW_HEIGHT, Row } from "./row.tsx";
import "./timeline.css";

/** Rows drawn above and below the visible ones. */
const SPARE = 8;
/** Width of everything beside the bars, and width of an axis mark (pixels). */
const BESIDE = 360;
const TICK = 88;
const ZOOM = 2;

/** Start and end of each node on a common time axis. A click selects the node. Only visible rows are drawn. */
export function Timeline({
  rows,
  from,
  to,
  selected,
  onSelect,
  onFold,
}: {
  readonly rows: readonly TimelineRow[];
  readonly from: string;
  readonly to: string | null;
  readonly selected: string | null;
  readonly onSelect: (id: string) => void;
  readonly onFold: (id: string, open: boolean) => void;
}): JSX.Element {
  const now = useNow();
  const start = Date.parse(from);
  const whole: Span = { from: start, to: Math.max(to === null ? now : Date.parse(to), start + 1) };
  // null shows the whole range, even while it grows.
  const [looked, setLooked] = useState<Span | null>(null);
  const span = looked ?? whole;
  const region = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const { top, height, width } = useSeen(list);
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE);
  const shown = rows.slice(first, Math.ceil((top + height) / ROW_HEIGHT) + SPARE);
  const at = rows.findIndex(({ id }) => id === selected);

  // A selection made elsewhere is also shown here.
  useEffect(() => {
    if (at !== -1 && list.current) showRow(list.current, at);
  }, [at]);

  const zoom = (factor: number): void => setLooked(zoomed(span, whole, factor, focusOf(rows[at], span)));
  const fit = (): void => setLooked(null);
  const move = (share: number): void => setLooked(moved(span, whole, share));
  const goTo = (index: number): void => {
    const row = rows[index];
    if (!row || !list.current) return;
    showRow(list.current, index);
    onSelect(row.id);
    // The row may be drawn only after the list has scrolled to it.
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-at="${index}"]`)?.focus());
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = rowUnder(event.target) ?? at;
    const row = rows[here];
    const keys: Record<string, (() => void) | undefined> = {
      "+": () => zoom(1 / ZOOM),
      "=": () => zoom(1 / ZOOM),
      "-": () => zoom(ZOOM),
      "0": fit,
      ArrowDown: () => goTo(here + 1),
      ArrowUp: () => goTo(here - 1),
      ArrowRight: event.shiftKey ? () => move(0.25) : row?.open === false ? () => onFold(row.id, true) : undefined,
      ArrowLeft: event.shiftKey ? () => move(-0.25) : row?.open === true ? () => onFold(row.id, false) : undefined,
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  // The group itself is not a control: it handles the keys of the rows in it.
  useEffect(() => {
    const element = region.current;
    element?.addEventListener("keydown", onKey);
    return () => element?.removeEventListener("keydown", onKey);
  });

  return (
    <div className="timeline" role="group" aria-label="Timeline of nodes" ref={region}>
      <div className="timeline-head">
        <div className="row">
          <button
            type="button"
            className="button button-small"
            aria-label="Zoom in"
            title="Zoom in (+)"
            onClick={() => zoom(1 / ZOOM)}
          >
            <Icon name="plus" />
          </button>
          <button
            type="button"
            className="button button-small"
            aria-label="Zoom out"
            title="Zoom out (-)"
            disabled={looked === null}
            onClick={() => zoom(ZOOM)}
          >
            <Icon name="minus" />
          </button>
          <button
            type="button"
            className="button button-small"
            title="Fit to window (0)"
            disabled={looked === null}
            onClick={fit}
          >
            Fit
          </button>
        </div>
        <div className="timeline-axis" aria-hidden="true">
          {ticksOf(span, start, Math.max(1, Math.floor((width - BESIDE) / TICK))).map((tick) => (
            <span key={tick} style={{ left: `${((start + tick - span.from) / (span.to - span.from)) * 100}%` }}>
              {duration(tick)}
            </span>
          ))}
        </div>
        <span className="timeline-took small muted">{duration(whole.to - whole.from)}</span>
      </div>
      <div className="timeline-list" ref={list} role="region" aria-label="Timeline rows" tabIndex={0}>
        <div className="timeline-all" style={{ height: rows.length * ROW_HEIGHT }}>
          {shown.map((row, index) => (
            <Row
              key={row.id}
              row={row}
              at={first + index}
              span={span}
              now={whole.to}
              isSelected={row.id === selected}
              onSelect={onSelect}
              onFold={onFold}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** The point to zoom around: the selected row if it is visible, otherwise the middle. */
function focusOf(row: TimelineRow | undefined, { from, to }: Span): number {
  const [bar] = row?.bars ?? [];
  const last = row?.bars.at(-1);
  if (bar) {
    const start = Date.parse(bar.from);
    const middle = (start + Date.parse(last?.to ?? bar.from)) / 2;
    if (middle >= from && middle <= to) return middle;
  }
  return (from + to) / 2;
}

function rowUnder(target: EventTarget | null): number | undefined {
  const at = target instanceof HTMLElement ? target.closest<HTMLElement>("[data-row-at]")?.dataset["rowAt"] : undefined;
  return at === undefined ? undefined : Number(at);
}

function showRow(list: HTMLElement, index: number): void {
  const top = index * ROW_HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
}

/** The visible part of a scrolling list, in whole rows, so that most scrolling redraws nothing. */
function useSeen(list: React.RefObject<HTMLElement | null>): {
  readonly top: number;
  readonly height: number;
  readonly width: number;
} {
  const [seen, setSeen] = useState({ top: 0, height: 480, width: 800 });
  useEffect(() => {
    const element = list.current;
    if (!element) return;
    const look = (): void =>
      setSeen((known) => {
        const top = Math.floor(element.scrollTop / (ROW_HEIGHT * 4)) * ROW_HEIGHT * 4;
        const height = element.clientHeight + ROW_HEIGHT * 4;
        const width = element.clientWidth;
        const isSame = known.top === top && known.height === height && known.width === width;
        return isSame ? known : { top, height, width };
      });
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [list]);
  return seen;
}
