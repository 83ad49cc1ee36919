import type { JSX, ReactNode } from "react";
import { Link } from "react-router";
import type { Tone } from "../../parts/status.tsx";

/** A figure that links to the list behind it. */
export function Figure({
  name,
  to,
  tone,
  children,
  note,
}: {
  readonly name: string;
  readonly to: string;
  readonly tone?: Tone | undefined;
  readonly children: ReactNode;
  readonly note?: ReactNode;
}): JSX.Element {
  return (
    <Link className={`figure ${tone === undefined ? "" : `tone-${tone}`}`} to={to}>
      <span className="muted">{name}</span>
      <strong>{children}</strong>
      <span className="small muted">{note}</span>
    </Link>
  );
}
