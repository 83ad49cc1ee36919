import type { JSX } from "react";
import type { ProjectActivity } from "../../api/projects.ts";

type Days = ProjectActivity["days"];

const HEIGHT = 24;
const WIDTH = 6;
const GAP = 2;
/** A day with few runs beside a day with many is still seen. */
const LOWEST = 2;

/** Runs a day as small bars, with the failed ones at the bottom; the label says the sums. */
export function DayPlot({ days }: { readonly days: Days }): JSX.Element {
  const runs = days.reduce((sum, day) => sum + day.runs, 0);
  const failed = days.reduce((sum, day) => sum + day.failed, 0);
  const label =
    runs === 0
      ? `No runs in ${days.length} days`
      : `${runs.toLocaleString()} ${runs === 1 ? "run" : "runs"} in ${days.length} days, ${failed.toLocaleString()} failed`;
  const highest = Math.max(1, ...days.map((day) => day.runs));
  const height = (count: number): number => (count === 0 ? 0 : Math.max(LOWEST, (count / highest) * (HEIGHT - 1)));
  return (
    <span className="day-plot" title={label}>
      <svg viewBox={`0 0 ${days.length * (WIDTH + GAP)} ${HEIGHT}`} role="img" aria-label={label}>
        {days.map((day, at) => {
          const x = at * (WIDTH + GAP);
          const all = height(day.runs);
          const bad = Math.min(all, height(day.failed));
          return (
            <g key={day.start}>
              <rect className="day-base" x={x} y={HEIGHT - 1} width={WIDTH} height={1} />
              <rect className="day-runs" x={x} y={HEIGHT - all} width={WIDTH} height={all - bad} />
              <rect className="day-failed" x={x} y={HEIGHT - bad} width={WIDTH} height={bad} />
            </g>
          );
        })}
      </svg>
      <span className="day-sum">{runs.toLocaleString()}</span>
    </span>
  );
}

/** The sums of several projects, day by day. */
export function sumDays(all: readonly Days[]): Days {
  const [first = []] = all;
  return first.map(({ start }, at) => ({
    start,
    runs: all.reduce((sum, days) => sum + (days[at]?.runs ?? 0), 0),
    failed: all.reduce((sum, days) => sum + (days[at]?.failed ?? 0), 0),
  }));
}
