import { useEffect, useRef, useState, type JSX, type ReactNode } from "react";
import "./menu.css";

/** A button that opens a panel of choices, until the user clicks elsewhere or presses Escape. */
export function Menu({
  name,
  large = false,
  closes = false,
  children,
}: {
  readonly name: string;
  readonly large?: boolean;
  /** Whether a choice closes the panel. */
  readonly closes?: boolean;
  /** A function delays content that is fetched until the menu opens. */
  readonly children: ReactNode | (() => ReactNode);
}): JSX.Element {
  const menu = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const close = (event: Event): void => {
      const { current } = menu;
      if (current?.open !== true) return;
      const isOutside = event.target instanceof Node && !current.contains(event.target);
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (!isEscape && (event instanceof KeyboardEvent || !isOutside)) return;
      current.open = false;
      if (isEscape) current.querySelector("summary")?.focus();
    };
    const { current: shown } = menu;
    const choose = ({ target }: MouseEvent): void => {
      if (!closes || !shown || !(target instanceof Element) || target.closest(".menu-choices button") === null) return;
      shown.open = false;
      // A dialog opened by this choice restores the focus to an element that is still visible.
      shown.querySelector("summary")?.focus();
    };
    shown?.addEventListener("click", choose);
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      shown?.removeEventListener("click", choose);
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, [closes]);
  return (
    <details className="menu" ref={menu} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className={`button ${large ? "" : "button-small"}`}>{name}</summary>
      <div className="panel menu-choices" role="group" aria-label={name}>
        {typeof children === "function" ? isOpen && children() : children}
      </div>
    </details>
  );
}
