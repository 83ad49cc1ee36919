import { useMemo, type JSX } from "react";
import { beginning } from "../../../src/domain/marks.ts";
import { blocksOf, type Block } from "./blocks.ts";
import { Blocks, Line } from "./formatted.tsx";
import { inlineOf, type Inline } from "./inline.ts";
import "./markdown.css";

/** Longer texts are shown unformatted, because drawing them at once would block the page. */
const MAX_CHARS = 20_000;

/** Renders Markdown without ever producing markup from it: HTML stays text, and images are links. */
export function Markdown({
  text,
  hasTitle = false,
}: {
  readonly text: string;
  /** Whether the first line is shown as a heading. */
  readonly hasTitle?: boolean;
}): JSX.Element {
  const isLong = text.length > MAX_CHARS;
  const blocks = useMemo(() => (isLong ? [] : blocksOf(text)), [text, isLong]);
  if (isLong)
    return hasTitle ? (
      <h2 className="markdown-title markdown-plain">{text}</h2>
    ) : (
      <p className="markdown-plain">{text}</p>
    );
  const [first, ...rest] = blocks;
  const title = hasTitle && (first?.kind === "paragraph" || first?.kind === "heading") ? first.text : null;
  const body = title === null ? blocks : rest;
  return (
    <>
      {hasTitle && <h2 className="markdown-title">{title === null ? "Approval request" : <Line text={title} />}</h2>}
      {body.length > 0 && (
        <div className="markdown">
          <Blocks blocks={body} />
        </div>
      )}
    </>
  );
}

/** Length of a text in a list (characters). */
const LINE_CHARS = 500;

/** The text of a Markdown source without its formatting. */
export function MarkdownLine({ text }: { readonly text: string }): JSX.Element {
  return <>{useMemo(() => wordsOf(blocksOf(beginning(text, LINE_CHARS))), [text])}</>;
}

function wordsOf(blocks: readonly Block[]): string {
  return blocks.map(wordsOfBlock).join(" ").replaceAll(/\s+/g, " ").trim();
}

function wordsOfBlock(block: Block): string {
  switch (block.kind) {
    case "paragraph":
    case "heading":
      return plain(inlineOf(block.text));
    case "code":
      return block.text;
    case "rule":
      return "";
    case "quote":
      return wordsOf(block.blocks);
    case "list":
      return block.items.map(wordsOf).join(" ");
    case "table":
      return [block.head, ...block.rows]
        .flat()
        .map((cell) => plain(inlineOf(cell)))
        .join(" ");
  }
}

function plain(parts: readonly Inline[]): string {
  return parts
    .map((part) => {
      if (typeof part === "string") return part;
      if (part.kind === "cite") return `[${part.number}]`;
      return part.kind === "code" ? part.text : plain(part.children);
    })
    .join("");
}
