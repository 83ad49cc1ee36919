import { useEffect } from "react";
import { isTyping } from "../parts/row-keys.ts";

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
