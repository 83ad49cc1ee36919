import { useInfiniteQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { WHICH, documentsOptions } from "../../api/knowledge.ts";
import type { Resource, Which } from "../../api/knowledge.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { HeldChanges, useHeldList } from "../../parts/list-changes.tsx";
import type { HeldRow } from "../../parts/list-changes.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { StateSelect } from "../../parts/state-select.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../filters.ts";
import { DocumentDialog, DocumentStatus } from "./document-dialog.tsx";

const NAMES: Readonly<Record<Which, string>> = {
  waiting: "Not yet indexed",
  failed: "Failed",
  indexed: "Indexed",
};
const NOTHING: Readonly<Record<Which, readonly [title: string, text: string]>> = {
  waiting: ["Nothing waits", "Every document is indexed, or has failed."],
  failed: ["Nothing failed", "What cannot be read or indexed is listed here, with why."],
  indexed: ["Nothing is indexed yet", "What waits and what failed is under the other states."],
};

/** The documents of a knowledge base, and why one is not indexed; one of them in a dialog, which has an address. */
export function Documents({
  knowledgeBaseId,
  total,
}: {
  readonly knowledgeBaseId: string;
  /** Of all states. */
  readonly total: number;
}): JSX.Element {
  const [search, put] = useFilters();
  const which = WHICH.find((each) => each === search.get("documents"));
  const chosen = search.get("document");
  const list = useInfiniteQuery(documentsOptions(knowledgeBaseId, which));
  const { data, error, isPending, refetch } = list;
  const held = useHeldList(`${which} ${data?.pages ?? 0}`, data?.data, ({ resource_id }) => resource_id);
  const linkOf = ({ resource_id }: Resource): string =>
    links.knowledgeBase(knowledgeBaseId, { ...(which && { documents: which }), document: resource_id });
  const [title, text] = which === undefined || total === 0 ? ["No document yet", HOW] : NOTHING[which];
  return (
    <section className="stack-tight" aria-label="Documents by state" data-list>
      <h2>Documents</h2>
      <div className="list-line">
        <HeldChanges newer={held.newer} gone={held.gone} onShow={held.takeIn} />
        <StateSelect
          label="State of documents"
          states={WHICH}
          nameOf={(each) => NAMES[each]}
          value={which}
          onChange={(chosen) => put("documents", chosen)}
        />
      </div>
      {isPending && <Loading what="documents" rows={4} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && held.shown.length === 0 && (
        <div className="panel">
          <Empty title={title}>{text}</Empty>
        </div>
      )}
      {held.shown.length > 0 && (
        <Table
          caption="Documents"
          rows={held.shown}
          keyOf={({ row }) => row.resource_id}
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
            { id: "why", head: "Why", wideOnly: true, cell: ({ row }) => <Why document={row} /> },
            { id: "since", head: "Changed", cell: ({ row }) => <Time at={row.modified_at} /> },
          ]}
        />
      )}
      {list.hasNextPage && (
        <div className="row">
          <MoreButton pages={list}>Older documents</MoreButton>
        </div>
      )}
      {chosen !== null && (
        <DocumentDialog knowledgeBaseId={knowledgeBaseId} resourceId={chosen} onClose={() => put("document", null)} />
      )}
    </section>
  );
}

const HOW = "POST /v2/knowledge-bases/{id}/resources adds one, and a sync those of its sources.";

/** A row that has left the list says so: it went on to another state, or was deleted. */
function State({ held: { row, isGone } }: { readonly held: HeldRow<Resource> }): JSX.Element {
  return isGone ? <span className="muted">No longer so</span> : <DocumentStatus status={row.status} />;
}

function Why({ document: { error } }: { readonly document: Resource }): JSX.Element {
  if (error === null) return <>-</>;
  return (
    <span className="wrap">
      <strong>{error.code}</strong> {error.message}
    </span>
  );
}
