import type { JSX } from "react";

const WINDOWS = { "1": "1 hour", "24": "24 hours", "168": "7 days", "720": "30 days" };
export type Hours = keyof typeof WINDOWS;
const HOURS = Object.keys(WINDOWS) as Hours[];
const USUAL: Hours = "24";

/** The time range that the URL asks for. */
export const hoursOf = (given: string | null): Hours => HOURS.find((each) => each === given) ?? USUAL;
export const wordsOf = (hours: Hours): string => WINDOWS[hours];

/** Chooses the time range of a page; null means the default. */
export function HowFarBack({
  hours,
  onChange,
}: {
  readonly hours: Hours;
  readonly onChange: (hours: Hours | null) => void;
}): JSX.Element {
  return (
    <select
      className="input input-short"
      aria-label="Time range"
      value={hours}
      onChange={({ target: { value } }) => onChange(value === USUAL ? null : hoursOf(value))}
    >
      {HOURS.map((each) => (
        <option key={each} value={each}>
          Last {WINDOWS[each]}
        </option>
      ))}
    </select>
  );
}
