import type { JSX, ReactNode } from "react";
import { Dialog } from "./dialog.tsx";
import { Failure, type Fault } from "./states.tsx";

/** Asks for confirmation of an action that cannot be undone. */
export function Confirm({
  title,
  action,
  dismiss = "Cancel",
  children,
  fault,
  isPending,
  onConfirm,
  onClose,
}: {
  readonly title: string;
  /** Label of the button that confirms: a verb. */
  readonly action: string;
  /** Label of the button that cancels. */ readonly dismiss?: string;
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
          {dismiss}
        </button>
      </div>
    </Dialog>
  );
}
