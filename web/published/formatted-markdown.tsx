import type { JSX } from "react";
import { Formatted } from "../chat/formatted.tsx";

/** Stands in for parts/markdown in the published pages (scripts/build-web-public.mjs), whose parser is half of a page's size. */
export function Markdown({ text }: { readonly text: string }): JSX.Element {
  return <Formatted text={text} />;
}
