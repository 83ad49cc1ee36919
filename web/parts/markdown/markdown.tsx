import { Suspense, lazy } from "react";
import type { JSX } from "react";
import "./markdown.css";

const View = lazy(async () => ({ default: (await import("./markdown-view.tsx")).MarkdownView }));

const Words = lazy(async () => ({ default: (await import("./markdown-view.tsx")).MarkdownWords }));

/** A longer text is shown as it is: nobody reads it, and reading it would take the page's time. */
const MAX_CHARS = 20_000;

/** A text as Markdown, which never becomes markup: HTML in it stays text, pictures are not fetched. */
export function Markdown({
  text,
  hasTitle = false,
}: {
  readonly text: string;
  /** Whether its first line is shown as a heading. */
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

/** As much of a text as a list shows (characters). */
const LINE_CHARS = 500;

/** The words of a text in Markdown, without its marks. */
export function MarkdownLine({ text }: { readonly text: string }): JSX.Element {
  const start = text.slice(0, LINE_CHARS);
  return (
    <Suspense fallback={start}>
      <Words text={start} />
    </Suspense>
  );
}
