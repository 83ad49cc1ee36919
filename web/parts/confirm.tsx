import type { JSX, ReactNode } from "react";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./states.tsx";
import type { Fault } from "./states.tsx";

/** Asks before something that cannot be taken back. */
export function Confirm({
  title,
  action,
  children,
  fault,
  isPending,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  /** What is done, as the button says it. */
  readonly action: string;
  readonly children: ReactNode;
  readonly fault: Fault | null;
  readonly isPending: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      {fault && <Failure fault={fault} />}
      <div className="row">
        <button type="button" className="button button-danger" disabled={isPending} onClick={onConfirm}>
          {action}
        </button>
        <button type="button" className="button" data-first onClick={onClose}>
          Keep it as it is
        </button>
      </div>
    </Dialog>
  );
}
