import type { JSX } from "react";

/** The button that sends a form, in a row of its own. */
export function Submit({
  isPending = false,
  isQuiet = false,
  children,
}: {
  readonly isPending?: boolean;
  /** Where another button is what the page is for. */
  readonly isQuiet?: boolean;
  readonly children: string;
}): JSX.Element {
  return (
    <div className="row">
      <button type="submit" className={isQuiet ? "button" : "button button-primary"} disabled={isPending}>
        {children}
      </button>
    </div>
  );
}
