import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { documentHref, documentOptions, type Resource } from "../../api/knowledge.ts";
import { Id } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";

/** The look of each document state of the API. */
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

/** What happens next to a document in a state; absent if its processing has finished. */
const NEXT: Readonly<Partial<Record<Resource["status"], string>>> = {
  pending: "Waiting for a worker to fetch it. See the Documents queue on Home.",
  resource: "File stored. Text extraction is next.",
  parsed: "Text extracted. If the embedding model cannot be reached, indexing is retried for about an hour.",
  error: "To retry, choose Sync now or add the document again. The previously indexed version is still searchable.",
  pending_delete: "Removed from search.",
};

/** One document: its progress, its error, and how to fix it. */
export function DocumentDialog({
  knowledgeBaseId,
  resourceId,
  onClose,
}: {
  readonly knowledgeBaseId: string;
  readonly resourceId: string;
  readonly onClose: () => void;
}): JSX.Element {
  const document = useQuery(documentOptions(knowledgeBaseId, resourceId));
  return (
    <Dialog title="Document" onClose={onClose} wide>
      <Fetched query={document} what="the document" rows={4}>
        {(data) => (
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
      </Fetched>
    </Dialog>
  );
}

const SOURCES: Readonly<Record<Resource["source"], string>> = {
  upload: "Upload",
  text: "Text",
  url: "URL",
};

function DocumentFacts({ document }: { readonly document: Resource }): JSX.Element {
  return (
    <dl className="facts">
      <Fact term="Document ID">
        <Id id={document.resource_id} label="document ID" />
      </Fact>
      <Fact term="Source">
        <span className="wrap">{document.source_url ?? SOURCES[document.source]}</span>
      </Fact>
      <Fact term="Type">{document.content_mime ?? "-"}</Fact>
      <Fact term="Size (bytes)">{document.content_hash === null ? "-" : document.size.toLocaleString()}</Fact>
      <Fact term="Pages">{document.page_count?.toLocaleString() ?? "-"}</Fact>
      <Fact term="Chunks">{document.chunk_count.toLocaleString()}</Fact>
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
