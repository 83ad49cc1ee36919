/** A period in a row. */
export interface TimelineBar {
  readonly from: string;
  /** null while it lasts. */
  readonly to: string | null;
  /** `work`; `wait` for a person, a delay or another run; `pause` before the next attempt. */
  readonly kind: "work" | "wait" | "pause";
  readonly tone: string;
  readonly title: string;
}

export interface TimelineRow {
  readonly id: string;
  readonly label: string;
  /** The node ID in smaller print; null if the label already shows it. */
  readonly second: string | null;
  readonly depth: number;
  readonly state: string;
  readonly note: string | null;
  /** Whether children are shown; null if there are none. */
  readonly open: boolean | null;
  readonly bars: readonly TimelineBar[];
}

/** The visible time range, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The shortest visible range (ms). */
const NARROWEST = 2;

/** A range `factor` times as long around a point, kept within `whole`. */
export function zoomed(span: Span, whole: Span, factor: number, around: number): Span {
  const length = Math.min(Math.max((span.to - span.from) * factor, NARROWEST), whole.to - whole.from);
  const share = (around - span.from) / (span.to - span.from);
  return within({ from: around - share * length, to: around + (1 - share) * length }, whole);
}

/** A range moved by a fraction of its length, kept within `whole`. */
export function moved(span: Span, whole: Span, share: number): Span {
  const by = (span.to - span.from) * share;
  return within({ from: span.from + by, to: span.to + by }, whole);
}

function within({ from, to }: Span, whole: Span): Span {
  if (from < whole.from) return { from: whole.from, to: Math.min(whole.to, whole.from + to - from) };
  if (to > whole.to) return { from: Math.max(whole.from, whole.to - (to - from)), to: whole.to };
  return { from, to };
}

/** Round times for the marks of the axis, relative to the start; at most `most`. */
export function ticksOf(span: Span, start: number, most: number): number[] {
  const step = stepFor((span.to - span.from) / most);
  const ticks: number[] = [];
  for (let at = Math.ceil((span.from - start) / step) * step; at <= span.to - start; at += step) ticks.push(at);
  return ticks;
}

const SECOND = 1000;
const STEPS = [15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400].map((seconds) => seconds * SECOND);

function stepFor(atLeast: number): number {
  if (atLeast > 10 * SECOND)
    return STEPS.find((step) => step >= atLeast) ?? Math.ceil(atLeast / 86_400_000) * 86_400_000;
  const power = 10 ** Math.floor(Math.log10(Math.max(atLeast, 0.1)));
  return [1, 2, 5, 10].map((each) => each * power).find((step) => step >= atLeast) ?? atLeast;
}
