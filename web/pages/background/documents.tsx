import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { WHICH, documentsOptions, type Resource, type Which } from "../../api/knowledge.ts";
import { links } from "../../links.ts";
import { List } from "../../parts/list/list.tsx";
import { HeldChanges, useHeldList, type HeldRow } from "../../parts/list-changes.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../filters.ts";
import { DocumentDialog, DocumentStatus } from "./document-dialog.tsx";

const NAMES: Readonly<Record<Which, string>> = {
  waiting: "Waiting",
  failed: "Failed",
  indexed: "Indexed",
};
/** The documents of a knowledge base, and why some are not indexed; the dialog of a document has its own URL. */
export function Documents({
  knowledgeBaseId,
  total,
}: {
  readonly knowledgeBaseId: string;
  /** Number of documents in all states. */
  readonly total: number;
}): JSX.Element {
  const [search, put] = useFilters();
  const which = WHICH.find((each) => each === search.get("documents"));
  const chosen = search.get("document");
  const list = useInfiniteQuery(documentsOptions(knowledgeBaseId, which));
  const { data } = list;
  const held = useHeldList(`${which} ${data?.pages ?? 0}`, data?.data, ({ resource_id }) => resource_id);
  const linkOf = ({ resource_id }: Resource): string =>
    links.knowledgeBase(knowledgeBaseId, { ...(which && { documents: which }), document: resource_id });
  return (
    <section className="stack-tight" aria-label="Documents by state">
      <h2>Documents</h2>
      <List
        query={{ ...list, data: data && { data: held.shown } }}
        items="documents"
        caption="Documents"
        more="Load older documents"
        placeholder={4}
        keyOf={({ row }) => row.resource_id}
        empty={{
          title: "No documents yet",
          text: "Upload files, add URLs or text, or set a source and sync.",
          action: <a href="/docs#createKnowledgeBaseResources">Add documents</a>,
        }}
        onClear={which === undefined || total === 0 ? undefined : () => put("documents", null)}
        line={
          <>
            <HeldChanges newer={held.newer} gone={held.gone} onShow={held.takeIn} />
            <StateSelect
              label="Document state"
              states={WHICH}
              nameOf={(each) => NAMES[each]}
              value={which}
              onChange={(chosen) => put("documents", chosen)}
            />
          </>
        }
        columns={[
          { id: "state", head: "State", cell: (each) => <State held={each} /> },
          {
            id: "name",
            head: "Document",
            cell: ({ row }) => (
              <span className="wrap">
                <Link to={linkOf(row)} data-row>
                  {row.resource_path}
                </Link>
                {row.error !== null && (
                  <span className="narrow-only small">
                    <Why document={row} />
                  </span>
                )}
              </span>
            ),
          },
          { id: "why", head: "Reason", wideOnly: true, cell: ({ row }) => <Why document={row} /> },
          { id: "since", head: "Last changed", cell: ({ row }) => <Time at={row.modified_at} /> },
        ]}
      />
      {chosen !== null && (
        <DocumentDialog knowledgeBaseId={knowledgeBaseId} resourceId={chosen} onClose={() => put("document", null)} />
      )}
    </section>
  );
}

/** A row that no longer matches the filter is marked: its document changed state or was deleted. */
function State({ held: { row, isGone } }: { readonly held: HeldRow<Resource> }): JSX.Element {
  return isGone ? <span className="muted">Changed</span> : <DocumentStatus status={row.status} />;
}

function Why({ document: { error } }: { readonly document: Resource }): JSX.Element {
  if (error === null) return <>-</>;
  return (
    <span className="wrap">
      <strong>{error.code}</strong> {error.message}
    </span>
  );
}
