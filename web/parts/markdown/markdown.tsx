import { Suspense, lazy } from "react";
import type { JSX } from "react";
import { beginning } from "../../../src/domain/marks.ts";
import "./markdown.css";

const View = lazy(async () => ({ default: (await import("./markdown-view.tsx")).MarkdownView }));

const Words = lazy(async () => ({ default: (await import("./markdown-view.tsx")).MarkdownWords }));

/** Longer texts are shown unformatted, because parsing them would block the page. */
const MAX_CHARS = 20_000;

/** Renders Markdown without ever producing markup from it: HTML stays text, and images are not fetched. */
export function Markdown({
  text,
  hasTitle = false,
}: {
  readonly text: string;
  /** Whether the first line is shown as a heading. */
  readonly hasTitle?: boolean;
}): JSX.Element {
  const plain = hasTitle ? (
    <h2 className="markdown-title markdown-plain">{text}</h2>
  ) : (
    <p className="markdown-plain">{text}</p>
  );
  if (text.length > MAX_CHARS) return plain;
  return (
    <Suspense fallback={plain}>
      <View text={text} hasTitle={hasTitle} />
    </Suspense>
  );
}

/** Length of a text in a list (characters). */
const LINE_CHARS = 500;

/** The text of a Markdown source without its formatting. */
export function MarkdownLine({ text }: { readonly text: string }): JSX.Element {
  const start = beginning(text, LINE_CHARS);
  return (
    <Suspense fallback={start}>
      <Words text={start} />
    </Suspense>
  );
}
