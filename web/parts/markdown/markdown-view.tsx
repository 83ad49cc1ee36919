import MarkdownIt from "markdown-it";
import { Fragment, createElement, useMemo } from "react";
import type { JSX, ReactNode } from "react";

type Token = ReturnType<InstanceType<typeof MarkdownIt>["parse"]>[number];
interface Branch {
  readonly token: Token;
  readonly children: Branch[];
}

/** Elements that Markdown may produce besides links, headings and code. */
const ELEMENTS = ["em", "strong", "s", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"];
const SCHEMES = ["http:", "https:", "mailto:"];
/** Headings start two levels lower, because the page has an h1 and the text a title. */
const HEADINGS_BELOW = 2;

/** Nesting limit, because a browser cannot lay out thousands of levels; deeper elements are dropped, but not their text. */
const MAX_DEPTH = 20;

const parser = new MarkdownIt("default", { html: false, maxNesting: MAX_DEPTH });
parser.validateLink = (url) => target(url) !== null;

/** The URL of a link; null unless it is a web or mail address, and then the link stays text. */
function target(url: string): URL | null {
  if (!URL.canParse(url)) return null;
  const found = new URL(url);
  return SCHEMES.includes(found.protocol) ? found : null;
}

export function MarkdownView({ text, hasTitle }: { readonly text: string; readonly hasTitle: boolean }): JSX.Element {
  const blocks = useMemo(() => treeOf(parser.parse(text, {})), [text]);
  const [first, ...rest] = blocks;
  const isTitle = hasTitle && (first?.token.type === "paragraph_open" || first?.token.type === "heading_open");
  const body = isTitle ? rest : blocks;
  return (
    <>
      {hasTitle && <h2 className="markdown-title">{isTitle ? all(first?.children ?? []) : "Approval request"}</h2>}
      {body.length > 0 && <div className="markdown">{all(body)}</div>}
    </>
  );
}

/** The text without elements, for one line. */
export function MarkdownWords({ text }: { readonly text: string }): JSX.Element {
  return <>{useMemo(() => words(parser.parse(text, {})), [text])}</>;
}

function words(tokens: readonly Token[]): string {
  const parts = tokens.map((token) => {
    if (token.type === "inline") return words(token.children ?? []);
    const isEndOfBlock = token.block && token.nesting === -1;
    if (token.type === "softbreak" || token.type === "hardbreak" || isEndOfBlock) return " ";
    return token.content;
  });
  return parts.join("").replaceAll(/ {2,}/g, " ").trim();
}

/** The parser returns a flat list of opening and closing tokens, which this turns into a tree. */
function treeOf(tokens: readonly Token[]): Branch[] {
  const top: Branch[] = [];
  const open = [top];
  for (const token of tokens) {
    const around = open.at(-1) ?? top;
    if (token.nesting === -1) open.pop();
    else if (token.nesting === 1 && open.length > MAX_DEPTH) open.push(around);
    else {
      const branch = { token, children: [] };
      around.push(branch);
      if (token.nesting === 1) open.push(branch.children);
    }
  }
  return top;
}

const all = (branches: readonly Branch[]): ReactNode[] =>
  branches.map((branch, index) => <Fragment key={index}>{draw(branch)}</Fragment>);

function draw({ token, children }: Branch): ReactNode {
  switch (token.type) {
    case "inline":
      return all(treeOf(token.children ?? []));
    case "text":
      return token.content;
    case "softbreak":
      return "\n";
    case "hardbreak":
      return <br />;
    case "hr":
      return <hr />;
    case "code_inline":
      return <code>{token.content}</code>;
    case "fence":
    case "code_block":
      return (
        <pre tabIndex={0}>
          <code>{token.content}</code>
        </pre>
      );
    case "image":
      return <Outside href={token.attrGet("src")}>{token.content || "picture"}</Outside>;
    case "link_open":
      return <Outside href={token.attrGet("href")}>{all(children)}</Outside>;
    case "paragraph_open":
      return token.hidden ? all(children) : <p>{all(children)}</p>;
    case "heading_open": {
      const level = Math.min(Number(token.tag.slice(1)) + HEADINGS_BELOW, 6);
      return createElement(`h${level}`, null, ...all(children));
    }
    default:
      return ELEMENTS.includes(token.tag)
        ? createElement(token.tag, startOf(token), ...all(children))
        : (token.content ?? all(children));
  }
}

/** First number of an ordered list. */
function startOf(token: Token): { start: number } | null {
  const start = token.tag === "ol" ? Number(token.attrGet("start") ?? Number.NaN) : Number.NaN;
  return Number.isNaN(start) ? null : { start };
}

/** An external link. The writer chooses its text, so the host is shown beside it. */
function Outside({
  href,
  children,
}: {
  readonly href: string | number | null;
  readonly children: ReactNode;
}): JSX.Element {
  const leads = target(String(href));
  if (leads === null) return <>{children}</>;
  return (
    <>
      <a href={leads.href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
      <span className="muted"> ({leads.host || leads.pathname})</span>
    </>
  );
}
