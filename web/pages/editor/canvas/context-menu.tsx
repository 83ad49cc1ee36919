import { useReactFlow } from "@xyflow/react";
import { useEffect, useLayoutEffect, useRef, useState, type JSX, type KeyboardEvent, type RefObject } from "react";
import type { Point } from "../../../flow/document.ts";
import { useEditor } from "../editor-context.ts";
import { useLatest } from "../latest.ts";
import { focusAgain } from "./focus.ts";
import type { ViewEdge, ViewNode } from "./graph-view.ts";
import { menuItems, type MenuGiven } from "./menu-items.ts";
import { cornerNear } from "./palette.tsx";
import "./context-menu.css";

const EDGE = 8;

/** What can be done with what is selected, or with the canvas if nothing is. Opens at a place of the window. */
export function ContextMenu({
  at,
  frame,
  onClose,
  ...given
}: Omit<MenuGiven, "editor" | "flow" | "place" | "corner"> & {
  readonly at: Point;
  readonly frame: RefObject<HTMLElement | null>;
  readonly onClose: () => void;
}): JSX.Element | null {
  const editor = useEditor();
  const flow = useReactFlow<ViewNode, ViewEdge>();
  const menu = useRef<HTMLDivElement>(null);
  const [before] = useState(() => document.activeElement);
  const close = (): void => {
    onClose();
    focusAgain(before, frame.current);
  };
  const latestClose = useLatest(close);
  useEffect(() => {
    const leave = (event: Event): void => {
      if (!(event.target instanceof Node) || menu.current?.contains(event.target) !== true) latestClose()();
    };
    document.addEventListener("pointerdown", leave, { capture: true });
    addEventListener("blur", leave);
    return () => {
      document.removeEventListener("pointerdown", leave, { capture: true });
      removeEventListener("blur", leave);
    };
  }, [latestClose]);
  useLayoutEffect(() => {
    const { current } = menu;
    if (current === null) return;
    const { width, height } = current.getBoundingClientRect();
    current.style.left = `${Math.max(EDGE, Math.min(at.x, innerWidth - width - EDGE))}px`;
    current.style.top = `${Math.max(EDGE, Math.min(at.y, innerHeight - height - EDGE))}px`;
    current.querySelector<HTMLElement>(ITEM)?.focus();
  }, [at]);
  const onKeyDown = (event: KeyboardEvent): void => {
    // Keys in the menu are not for the canvas.
    event.stopPropagation();
    const items = [...(menu.current?.querySelectorAll<HTMLElement>(ITEM) ?? [])];
    const now = items.findIndex((each) => each === document.activeElement);
    const next = STEPS[event.key]?.(now, items.length);
    if (next !== undefined) items[next]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
  };
  const groups = menuItems({ ...given, editor, flow, place: at, corner: cornerNear(at, frame.current) });
  return (
    <div
      ref={menu}
      className="panel context-menu"
      role="menu"
      tabIndex={-1}
      aria-label={groups.title}
      onKeyDown={onKeyDown}
      onContextMenu={(event) => event.preventDefault()}
    >
      {groups.items.map((items, index) => (
        <div key={index} role="group" className="context-group">
          {items.map(({ label, keys, isDisabled, run }) => (
            <button
              key={label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              aria-disabled={isDisabled === true ? true : undefined}
              aria-keyshortcuts={keys?.replace("Ctrl", "Control")}
              onClick={() => {
                if (isDisabled === true) return;
                close();
                run();
              }}
            >
              <span>{label}</span>
              {keys !== undefined && <kbd>{keys}</kbd>}
            </button>
          ))}
        </div>
      ))}
    </div>
  );
}

const ITEM = "[role=menuitem]";
const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at <= 0 ? count : at) - 1,
  Home: () => 0,
  End: (_, count) => count - 1,
};
