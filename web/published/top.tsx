import type { JSX, ReactNode } from "react";
import type { Look } from "./shapes.ts";

/** The head of the page: its name, and its actions. */
export function Top({ look, children }: { readonly look: Look; readonly children?: ReactNode }): JSX.Element {
  return (
    <header className="top">
      <h1>{look.name}</h1>
      {children}
    </header>
  );
}
