import { useEffect, useRef } from "react";

/** Makes `j` and `k` move from row to row below the element with this ref, across all lists in it. */
export function useRowKeys<E extends HTMLElement>(): React.RefObject<E | null> {
  const body = useRef<E>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
      if (step === 0) return;
      const all = body.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [];
      const links = [...all].filter((link) => link.checkVisibility());
      const { activeElement } = document;
      const own = links.findIndex((link) => link === activeElement);
      // Also works if the focus is on another control of a row, such as the button that copies an ID.
      const at = own === -1 ? links.findIndex((link) => link.closest("tr")?.contains(activeElement)) : own;
      const next = links[at === -1 ? 0 : Math.min(Math.max(at + step, 0), links.length - 1)];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return body;
}

/** Whether the key goes into a text field and must not act as a shortcut. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, dialog, [contenteditable]") !== null;
}
