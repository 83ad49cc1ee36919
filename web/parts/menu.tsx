import { useEffect, useRef, useState } from "react";
import type { JSX, ReactNode } from "react";
import "./menu.css";

/** A button that opens a panel of choices below it, until one chooses elsewhere or presses Escape. */
export function Menu({
  name,
  large = false,
  closes = false,
  children,
}: {
  readonly name: string;
  readonly large?: boolean;
  /** Whether choosing something in it closes it. */
  readonly closes?: boolean;
  /** What is only fetched once it is looked at is given as a function. */
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
      // A dialog that opens now gives the focus back to what is still seen then.
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
