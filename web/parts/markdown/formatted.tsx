import { Fragment, createElement, memo, useMemo, useState, type JSX, type ReactNode } from "react";
import { inlineOf, safeAddress, type Inline } from "./inline.ts";
import { blocksOf, type Block } from "./blocks.ts";
import { piecesOf } from "./pieces.ts";

/** Characters that are formatted. What comes after them is shown as it is, once a reader asks for it. */
const FORMATTED = 60_000;
/** Characters of the rest that are shown at a time, and in one paragraph. */
const MORE = 200_000;
const PLAIN = 4000;

/** Draws the number of a source in a text; null if there is no such source, and then it stays text. */
export type DrawCite = (number: number) => ReactNode;

/**
 * A text in Markdown, written by a model or a document: everything in it is text. HTML is not interpreted, images are links that a reader
 * may follow, links open elsewhere and name their host. Safe and quick for any text of any length.
 */
export const Formatted = memo(function Formatted({
  text,
  drawCite,
}: {
  readonly text: string;
  /** Stays the same while the text grows, or all of the text is formatted again. */
  readonly drawCite?: DrawCite | undefined;
}): JSX.Element {
  const begin = text.length > FORMATTED ? text.slice(0, FORMATTED) : text;
  return (
    <div className="chat-text">
      {piecesOf(begin).map((piece, index) => (
        <Piece key={index} text={piece} drawCite={drawCite} />
      ))}
      {text.length > FORMATTED && <Rest text={text} />}
    </div>
  );
});

/** What follows the formatted part of a very long text. */
function Rest({ text }: { readonly text: string }): JSX.Element {
  const [shown, setShown] = useState(FORMATTED);
  const end = Math.min(shown, text.length);
  const starts = Array.from({ length: Math.ceil((end - FORMATTED) / PLAIN) }, (_, at) => FORMATTED + at * PLAIN);
  return (
    <>
      {starts.map((start) => (
        <p key={start} className="chat-plain">
          {text.slice(start, Math.min(start + PLAIN, end))}
        </p>
      ))}
      {end < text.length && (
        <p>
          <button type="button" className="button button-small" onClick={() => setShown(end + MORE)}>
            Show more
          </button>{" "}
          <span className="small muted">{(text.length - end).toLocaleString()} more characters, unformatted.</span>
        </p>
      )}
    </>
  );
}

const Piece = memo(function Piece({
  text,
  drawCite,
}: {
  readonly text: string;
  readonly drawCite: DrawCite | undefined;
}): JSX.Element {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return <Blocks blocks={blocks} drawCite={drawCite} />;
});

/** Blocks of a text. */
export function Blocks({
  blocks,
  drawCite,
}: {
  readonly blocks: readonly Block[];
  readonly drawCite?: DrawCite | undefined;
}): JSX.Element {
  return <>{all(blocks, drawCite)}</>;
}

/** Text with inline marks only. */
export function Line({ text }: { readonly text: string }): JSX.Element {
  return <>{line(text, undefined)}</>;
}

const all = (blocks: readonly Block[], cite: DrawCite | undefined): ReactNode =>
  blocks.map((block, index) => <Fragment key={index}>{draw(block, cite)}</Fragment>);

function draw(block: Block, cite: DrawCite | undefined): ReactNode {
  switch (block.kind) {
    case "paragraph":
      return <p>{line(block.text, cite)}</p>;
    case "heading":
      // One level, because a page has an outline of its own that the writer does not know.
      return <h3 className={`chat-heading-${block.level}`}>{line(block.text, cite)}</h3>;
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case "rule":
      return <hr />;
    case "quote":
      return <blockquote>{all(block.blocks, cite)}</blockquote>;
    case "list":
      return createElement(
        block.start === null ? "ul" : "ol",
        block.start === null ? null : { start: block.start },
        block.items.map((item, index) => <li key={index}>{itemOf(item, cite)}</li>),
      );
    case "table":
      return (
        <div className="chat-table" role="region" aria-label="Table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {block.head.map((cell, index) => (
                  <th key={index} scope="col">
                    {line(cell, cite)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((cells, row) => (
                <tr key={row}>
                  {cells.map((cell, index) => (
                    <td key={index}>{line(cell, cite)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
  }
}

/** A short item stands on its line, without a paragraph around it. */
function itemOf([first, ...rest]: readonly Block[], cite: DrawCite | undefined): ReactNode {
  if (first?.kind !== "paragraph") return first && all([first, ...rest], cite);
  return (
    <>
      {line(first.text, cite)}
      {all(rest, cite)}
    </>
  );
}

const line = (text: string, cite: DrawCite | undefined): ReactNode => parts(inlineOf(text), cite);

const parts = (inside: readonly Inline[], cite: DrawCite | undefined): ReactNode =>
  inside.map((part, index) => <Fragment key={index}>{drawPart(part, cite)}</Fragment>);

function drawPart(part: Inline, cite: DrawCite | undefined): ReactNode {
  if (typeof part === "string") return part;
  switch (part.kind) {
    case "code":
      return <code>{part.text}</code>;
    case "cite":
      return cite?.(part.number) ?? `[${part.number}]`;
    case "em":
      return <em>{parts(part.children, cite)}</em>;
    case "strong":
      return <strong>{parts(part.children, cite)}</strong>;
    case "strike":
      return <s>{parts(part.children, cite)}</s>;
    case "link":
      return (
        <Outside href={part.href} isBare={part.children.length === 1 && part.children[0] === part.href}>
          {parts(part.children, cite)}
        </Outside>
      );
  }
}

/** A link that opens elsewhere. The writer chose its text, so its host stands beside it unless the text is the address. */
export function Outside({
  href,
  isBare = false,
  children,
}: {
  readonly href: string;
  readonly isBare?: boolean;
  readonly children: ReactNode;
}): JSX.Element {
  const address = safeAddress(href);
  if (address === null) return <>{children}</>;
  const { host, pathname } = new URL(address);
  return (
    <>
      <a href={address} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
      {!isBare && <span className="muted"> ({host || pathname})</span>}
    </>
  );
}
