import { useEffect } from "react";
import { isTyping } from "../parts/table.tsx";

/** The keys that work everywhere, as the help shows them. */
export const SHORTCUTS: ReadonlyArray<readonly [keys: string, what: string]> = [
  ["/", "Search this page, or go to another"],
  ["Ctrl K", "Go to a page, a project or a run"],
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["?", "These keys"],
  ["Esc", "Close what is open"],
];

/** The keys of the timeline of a run, where it has the focus. */
export const TIMELINE_KEYS: typeof SHORTCUTS = [
  ["↑ ↓", "The row above, the row below"],
  ["→ ←", "Unfold, fold"],
  ["+ -", "Zoom in, zoom out"],
  ["0", "Fit all of it"],
  ["Shift ← →", "Move it"],
];

export function useShortcuts(open: (overlay: "palette" | "help") => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        open("palette");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "?") open("help");
      if (event.key !== "/") return;
      event.preventDefault();
      const search = document.querySelector<HTMLElement>("[data-search]");
      if (search) search.focus();
      else open("palette");
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [open]);
}
