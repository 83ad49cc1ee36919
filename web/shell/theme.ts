import { keep, readKept } from "../parts/kept.ts";

const KEY = "millrace.theme";
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export function readTheme(): Theme {
  const kept = readKept(KEY);
  return THEMES.find((each) => each === kept) ?? "system";
}

/** Applies the chosen theme; "system" follows the browser. */
export function applyTheme(theme: Theme = readTheme()): void {
  keep(KEY, theme);
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
