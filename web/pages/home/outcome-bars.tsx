import type { JSX } from "react";
import { Link } from "react-router";
import { Icon } from "../../parts/icons.tsx";
import { lookOf } from "../../parts/status.tsx";
import "./outcome-bars.css";

export interface OutcomeBar {
  readonly label: string;
  readonly counts: Readonly<Record<string, number>>;
  /** URL of the list behind a bar. */
  readonly to: string;
}

const HEIGHT = 120;
const WIDTH = 20;
const GAP = 4;

/** Counts over time, stacked by state, each bar a link; drawn as a chart and repeated as a table for screen readers. */
export function OutcomeBars({
  caption,
  unit,
  bars,
  states,
}: {
  readonly caption: string;
  /** Name of the counted items. */
  readonly unit: string;
  readonly bars: readonly OutcomeBar[];
  /** States in stacking order, from the bottom up. */
  readonly states: readonly string[];
}): JSX.Element {
  const total = ({ counts }: OutcomeBar): number => states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const highest = Math.max(1, ...bars.map(total));
  return (
    <figure className="bars">
      <p className="small muted" aria-hidden="true">
        Highest bar: {highest.toLocaleString()}
      </p>
      <div className="bars-picture">
        <svg viewBox={`0 0 ${bars.length * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <line className="bar-base" x1="0" x2={bars.length * WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
          {bars.map((bar, index) => {
            let below = 0;
            return states.map((state) => {
              const height = ((bar.counts[state] ?? 0) / highest) * (HEIGHT - 2);
              below += height;
              return (
                <rect
                  key={`${bar.label} ${state}`}
                  className={`bar tone-${lookOf(state).tone}`}
                  x={index * WIDTH + GAP / 2}
                  y={HEIGHT - below}
                  width={WIDTH - GAP}
                  height={height}
                />
              );
            });
          })}
        </svg>
        <ul className="bars-links" aria-label={`${caption}: links`}>
          {bars.map((bar) => {
            const name = `${unit} from ${bar.label}: ${total(bar).toLocaleString()}`;
            return <li key={bar.label}>{total(bar) > 0 && <Link to={bar.to} aria-label={name} title={name} />}</li>;
          })}
        </ul>
      </div>
      <p className="spread small muted" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </p>
      <ul className="bars-legend">
        {states.map((state) => {
          const { word, tone, icon } = lookOf(state);
          return (
            <li key={state} className={`tone-${tone}`}>
              <Icon name={icon} /> <span>{word}</span>
            </li>
          );
        })}
      </ul>
      <div className="visually-hidden">
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              {states.map((state) => (
                <th key={state} scope="col">
                  {lookOf(state).word}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.label}>
                <th scope="row">{bar.label}</th>
                {states.map((state) => (
                  <td key={state}>{bar.counts[state] ?? 0}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
