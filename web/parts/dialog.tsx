import { useEffect, useId, useRef } from "react";
import type { JSX, ReactNode } from "react";
import { Icon } from "./icons.tsx";
import "./dialog.css";

/** A dialog of the browser's own: it keeps the focus, gives it back, closes by Escape and hides the rest from screen readers. */
export function Dialog({
  title,
  onClose,
  wide = false,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean;
  readonly children: ReactNode;
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className={`dialog ${wide ? "dialog-wide" : ""}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div className="dialog-body">
        <div className="spread">
          <h2 id={titleId}>{title}</h2>
          <button type="button" className="button button-quiet button-small" aria-label="Close" onClick={onClose}>
            <Icon name="cross" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
