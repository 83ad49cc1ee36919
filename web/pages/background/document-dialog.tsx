import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { documentHref, documentOptions } from "../../api/knowledge.ts";
import type { Resource } from "../../api/knowledge.ts";
import { toProblem } from "../../api/problem.ts";
import { Id } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Fact } from "../../parts/facts.tsx";
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
  return (
    <dl className="facts">
      <Fact term="Document">
        <Id id={document.resource_id} label="document id" />
      </Fact>
      <Fact term="Comes from">
        <span className="wrap">{document.source_url ?? SOURCES[document.source]}</span>
      </Fact>
      <Fact term="Type">{document.content_mime ?? "-"}</Fact>
      <Fact term="Bytes">{document.content_hash === null ? "-" : document.size.toLocaleString()}</Fact>
      <Fact term="Pages">{document.page_count?.toLocaleString() ?? "-"}</Fact>
      <Fact term="Passages">{document.chunk_count.toLocaleString()}</Fact>
      <Fact term="Added">
        <Time at={document.created_at} />
      </Fact>
      <Fact term="Changed">
        <Time at={document.modified_at} />
      </Fact>
      <Fact term="Indexed">
        <Time at={document.indexed_at} />
      </Fact>
    </dl>
  );
}
