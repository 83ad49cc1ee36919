import { useQuery } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { documentHref, documentOptions } from "../../api/knowledge.ts";
import type { Resource } from "../../api/knowledge.ts";
import { toProblem } from "../../api/problem.ts";
import { Id } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure, Loading, Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";

/** What the API calls a document's state, as its look. */
const LOOKS: Readonly<Record<Resource["status"], string>> = {
  pending: "pending",
  resource: "stored",
  parsed: "extracted",
  indexed: "indexed",
  error: "unreadable",
  pending_delete: "deleting",
};

export function DocumentStatus({ status }: { readonly status: Resource["status"] }): JSX.Element {
  return <Status state={LOOKS[status]} />;
}

/** What happens next to a document in a state; nothing where it is done. */
const NEXT: Readonly<Partial<Record<Resource["status"], string>>> = {
  pending: "It is fetched as soon as a worker takes it: see the queue Documents on Home.",
  resource: "Its bytes are stored; its text is read next.",
  parsed:
    "Its text is read. While its embedding model cannot be reached it waits here, and is tried again for about an hour.",
  error: "Sync now tries it again, and so does adding it again. What was indexed of it before is still found.",
  pending_delete: "Nothing of it is found any more.",
};

/** One document: how far it is, why it failed, and what helps. */
export function DocumentDialog({
  knowledgeBaseId,
  resourceId,
  onClose,
}: {
  readonly knowledgeBaseId: string;
  readonly resourceId: string;
  readonly onClose: () => void;
}): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(documentOptions(knowledgeBaseId, resourceId));
  return (
    <Dialog title="Document" onClose={onClose} wide>
      {isPending && <Loading what="the document" rows={4} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && (
        <>
          <p className="row">
            <DocumentStatus status={data.status} /> <strong className="wrap">{data.resource_path}</strong>
          </p>
          {data.error !== null && (
            <Notice tone="bad">
              <span className="wrap">
                <strong>{data.error.code}</strong> {data.error.message}
              </span>
            </Notice>
          )}
          {NEXT[data.status] !== undefined && <p className="muted">{NEXT[data.status]}</p>}
          <DocumentFacts document={data} />
          {data.content_hash !== null && (
            <p>
              <a href={documentHref(knowledgeBaseId, resourceId)} target="_blank" rel="noopener noreferrer">
                Open the document
              </a>
            </p>
          )}
        </>
      )}
    </Dialog>
  );
}

const SOURCES: Readonly<Record<Resource["source"], string>> = {
  upload: "an upload",
  text: "a text",
  url: "an address",
};

function DocumentFacts({ document }: { readonly document: Resource }): JSX.Element {
  const facts: ReadonlyArray<readonly [string, ReactNode]> = [
    ["Document", <Id key="id" id={document.resource_id} label="document id" />],
    [
      "Comes from",
      <span key="from" className="wrap">
        {document.source_url ?? SOURCES[document.source]}
      </span>,
    ],
    ["Type", document.content_mime ?? "-"],
    ["Bytes", document.content_hash === null ? "-" : document.size.toLocaleString()],
    ["Pages", document.page_count?.toLocaleString() ?? "-"],
    ["Passages", document.chunk_count.toLocaleString()],
    ["Added", <Time key="added" at={document.created_at} />],
    ["Changed", <Time key="changed" at={document.modified_at} />],
    ["Indexed", <Time key="indexed" at={document.indexed_at} />],
  ];
  return (
    <dl className="facts">
      {facts.map(([term, fact]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{fact}</dd>
        </div>
      ))}
    </dl>
  );
}
