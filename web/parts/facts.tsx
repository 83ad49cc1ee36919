import type { JSX, ReactNode } from "react";
import "./facts.css";

/** One fact in a list of them (`dl` with the class `facts`). */
export function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }): JSX.Element {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}
