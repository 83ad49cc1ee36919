import { useId, useLayoutEffect, useRef } from "react";
import type { JSX, ReactNode } from "react";
import { Icon } from "./icons.tsx";
import "./dialog.css";

/**
 * A dialog of the browser's own: it keeps the focus, gives it back, closes by Escape and hides the rest from screen readers. The focus goes to
 * what carries `data-first`; a browser gives it to nothing that is not drawn yet, so `autoFocus` does nothing here.
 */
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
  // Before the dialog is taken out of the page: only one that is in it gives the focus back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      dialog.close();
      // What opened it may be gone, such as the row of a revoked key. What stands beside it gets the focus first, if it is kept there.
      setTimeout(() => {
        const { activeElement: at } = document;
        if (at === null || at === document.body) document.getElementById("content")?.focus();
      });
    };
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
