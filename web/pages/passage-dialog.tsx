import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type JSX } from "react";
import { documentHref, documentTextOptions, type Resource } from "../api/knowledge.ts";
import { beginning } from "../../src/domain/marks.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Fetched } from "../parts/list/fetched.tsx";
import { Empty, Notice } from "../parts/states.tsx";
import { passageIn, type Passage } from "./cited.ts";
import "./passage.css";

/** Characters that are shown before and after the passage, and more on request. */
const AROUND = 1500;

/** A document at a passage that an answer cites, which is marked. */
export function PassageDialog({
  place,
  onClose,
}: {
  /** The passage in the address. */
  readonly place: string;
  readonly onClose: () => void;
}): JSX.Element {
  const passage = passageIn(place);
  const { knowledgeBaseId, resourceId, page } = passage;
  const document = useQuery(documentTextOptions(knowledgeBaseId, resourceId));
  return (
    <Dialog title="Source" onClose={onClose} wide>
      <Fetched
        query={document}
        what="the document"
        rows={6}
        missing={<Empty title="Document not found">It may have been deleted since the answer was written.</Empty>}
      >
        {(data) => (
          <>
            <div className="spread">
              <strong className="wrap">{data.resource_path}</strong>
              <a
                className="button button-small"
                href={documentHref(knowledgeBaseId, resourceId) + (page === null ? "" : `#page=${page}`)}
                target="_blank"
                rel="noopener noreferrer"
              >
                Open the document{page === null ? "" : ` at page ${page}`}
              </a>
            </div>
            <Marked passage={passage} document={data} />
          </>
        )}
      </Fetched>
    </Dialog>
  );
}

function Marked({ passage, document }: { readonly passage: Passage; readonly document: Resource }): JSX.Element {
  const text = document.text ?? "";
  const { from, to } = passage;
  const [around, setAround] = useState(AROUND);
  const mark = useRef<HTMLElement>(null);
  useEffect(() => {
    // Not returned: newer browsers return a promise, which React would call.
    mark.current?.scrollIntoView({ block: "center" });
  }, []);
  if (text === "") return <Notice tone="warn">The text of this document has not been extracted.</Notice>;
  if (to > text.length || from >= to)
    return <Notice tone="warn">The document was changed after this answer; the passage is no longer in it.</Notice>;
  const start = Math.max(0, from - around);
  const end = Math.min(text.length, to + around);
  return (
    <>
      <div className="passage" role="region" aria-label="Text of the document" tabIndex={0}>
        {start > 0 && "…"}
        {text.slice(start, from)}
        <mark ref={mark}>{text.slice(from, to)}</mark>
        {beginning(text.slice(to, end), end - to)}
        {end < text.length && "…"}
      </div>
      {(start > 0 || end < text.length) && (
        <div className="row">
          <button type="button" className="button button-small" onClick={() => setAround(around * 4)}>
            Show more of the document
          </button>
        </div>
      )}
    </>
  );
}
