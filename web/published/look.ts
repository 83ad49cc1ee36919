import { readable } from "./contrast.ts";
import type { Look } from "./shapes.ts";

/** Shows the publisher's name and colour, in a shade that can be read in the visitor's theme. Follows changes of the theme. */
export function applyLook({ name, colour }: Look): void {
  document.title = name;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const shades = colour === null ? null : readable(colour, dark.matches ? "dark" : "light");
    if (shades === null) return;
    const { style } = document.documentElement;
    style.setProperty("--accent", shades.accent);
    style.setProperty("--focus", shades.accent);
    style.setProperty("--on-accent", shades.onAccent);
  };
  apply();
  dark.addEventListener("change", apply);
}
