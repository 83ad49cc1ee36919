import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type JSX } from "react";
import { nodeValueOptions, pagesOf, type NodeValue } from "../../api/node-values.ts";
import type { NodeDetail } from "../../api/runs.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { saveAs } from "../../parts/save-as.ts";
import { Failure } from "../../parts/states.tsx";
import { findIn, FindForm, type Hit } from "./find-in-pages.tsx";
import "./long-value.css";

/** A value of any size: one page is drawn, and pages are read only when the user opens, searches or copies them. */
export function LongValue({
  runId,
  node,
  member,
}: {
  readonly runId: string;
  readonly node: NodeDetail;
  readonly member: NodeValue;
}): JSX.Element {
  const label = labelOf(node, member);
  const value = useInfiniteQuery(nodeValueOptions(runId, node, member));
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage } = value;
  const [shown, setShown] = useState(0);
  const [hit, setHit] = useState<Hit | null>(null);
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  const mark = useRef<HTMLElement>(null);
  useEffect(() => {
    // Braces keep the return value from React: in newer browsers it is a promise, which React would take for a cleanup.
    mark.current?.scrollIntoView({ block: "nearest" });
  }, [hit]);
  if (data === undefined) return <Fetched query={value} what={label} />;
  const texts = data.pages.map(({ text }) => text);
  const size = data.pages[0]?.size ?? 0;
  const count = hasNextPage ? Math.max(pagesOf(size), texts.length + 1) : texts.length;
  const isText = data.pages[0]?.place.isText === true;

  const turnTo = async (page: number): Promise<void> => {
    if (page >= texts.length) await fetchNextPage();
    setShown(page);
    setHit(null);
  };
  /** All pages, read if necessary. After the view is closed it stops and returns the pages read so far. */
  const readAll = async (): Promise<string[]> => {
    let pages = texts;
    for (let more = hasNextPage; more && isOpen.current;) {
      const next = await fetchNextPage();
      if (next.isError) throw next.error;
      pages = next.data?.pages.map(({ text }) => text) ?? pages;
      more = next.hasNextPage;
    }
    return pages;
  };
  const name = `${node.path.replaceAll(/[^\w.-]+/g, "-")}-${member}.${isText ? "txt" : "json"}`;
  return (
    <div className="stack-tight">
      <div className="value value-box value-text long-value" role="group" aria-label={label} tabIndex={0}>
        <Page text={texts[shown] ?? ""} hit={hit?.page === shown ? hit : null} mark={mark} />
      </div>
      <div className="row">
        <button
          type="button"
          className="button button-small"
          disabled={shown === 0}
          onClick={() => void turnTo(shown - 1)}
        >
          Previous page
        </button>
        <span className="small" role="status">
          Page {(shown + 1).toLocaleString()} of {count.toLocaleString()}
        </span>
        <button
          type="button"
          className="button button-small"
          disabled={shown + 1 >= count || isFetchingNextPage}
          onClick={() => void turnTo(shown + 1)}
        >
          Next page
        </button>
        <span className="small muted">
          {kilobytes(size)}
          {hasNextPage && `, ${texts.length.toLocaleString()} of ${count.toLocaleString()} pages loaded`}
        </span>
      </div>
      {error && <Failure fault={error} retry={() => void fetchNextPage()} />}
      <div className="row">
        <FindForm
          label={label}
          pages={texts.length}
          find={(query) => findIn(texts, query)}
          onHit={(found) => {
            setHit(found);
            if (found) setShown(found.page);
          }}
        />
        {hasNextPage && (
          <button
            type="button"
            className="button button-small"
            disabled={isFetchingNextPage}
            onClick={() => void readAll()}
          >
            Load all
          </button>
        )}
        <CopyButton text={async () => (await readAll()).join("")} label={`complete ${label}`}>
          Copy all
        </CopyButton>
        <button
          type="button"
          className="button button-quiet button-small"
          onClick={() => void readAll().then((all) => saveAs(name, new Blob(all)))}
        >
          Download
        </button>
      </div>
    </div>
  );
}

function Page({
  text,
  hit,
  mark,
}: {
  readonly text: string;
  readonly hit: Hit | null;
  readonly mark: React.RefObject<HTMLElement | null>;
}): JSX.Element {
  if (!hit) return <>{text}</>;
  return (
    <>
      {text.slice(0, hit.at)}
      <mark ref={mark}>{text.slice(hit.at, hit.at + hit.length)}</mark>
      {text.slice(hit.at + hit.length)}
    </>
  );
}

/** Accessible label of a value. */
export const labelOf = ({ path }: NodeDetail, member: NodeValue): string =>
  `${member === "inputs" ? "Inputs" : "Output"} of ${path}`;

const kilobytes = (size: number): string => `${Math.ceil(size / 1000).toLocaleString()} kB`;
