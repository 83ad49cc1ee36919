import type { JSX } from "react";
import { lookOf } from "./status.tsx";

/** Filters a list by state; "" means any state. */
export function StateSelect<State extends string>({
  label,
  states,
  nameOf = (state) => lookOf(state).word,
  value,
  onChange,
}: {
  readonly label: string;
  readonly states: readonly State[];
  readonly nameOf?: (state: State) => string;
  readonly value: State | undefined;
  readonly onChange: (state: string) => void;
}): JSX.Element {
  return (
    <select
      className="input input-short"
      aria-label={label}
      data-search
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">All states</option>
      {states.map((each) => (
        <option key={each} value={each}>
          {nameOf(each)}
        </option>
      ))}
    </select>
  );
}
