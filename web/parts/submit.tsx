import type { JSX } from "react";

/** The submit button of a form, in a row of its own. */
export function Submit({
  isPending = false,
  isQuiet = false,
  children,
}: {
  readonly isPending?: boolean;
  /** For pages whose main action is another button. */
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
