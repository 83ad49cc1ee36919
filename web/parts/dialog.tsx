import { useId, useLayoutEffect, useRef, type JSX, type ReactNode } from "react";
import { Icon } from "./icons.tsx";
import "./dialog.css";

/**
 * A native dialog: the browser traps and restores the focus, closes on Escape, and hides the rest of the page from
 * screen readers. The element with `data-first` gets the focus; `autoFocus` has no effect, because the element is not
 * drawn yet when the dialog opens.
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
  // A layout effect closes the dialog before it is removed from the page; a removed dialog does not restore the focus.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      dialog.close();
      // The opener may be gone, such as the row of a revoked key; kept-focus.ts may already have moved the focus to its neighbour.
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
