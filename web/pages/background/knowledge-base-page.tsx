import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { knowledgeBaseOptions, syncNow, useKnowledgeAction, waitingOf } from "../../api/knowledge.ts";
import { links } from "../../links.ts";
import { Id } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Failure, Loading, Notice } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { DetailFailure } from "./detail-failure.tsx";
import { Documents } from "./documents.tsx";
import { Syncs } from "./syncs.tsx";

/** One knowledge base: which documents wait or failed, why, and its syncs. */
export function KnowledgeBasePage(): JSX.Element {
  const { knowledgeBaseId = "" } = useParams();
  const { data, error, isPending, refetch } = useQuery(knowledgeBaseOptions(knowledgeBaseId));
  if (isPending) return <Loading what="the knowledge base" />;
  if (data === undefined) return <DetailFailure what="knowledge base" error={error} retry={() => void refetch()} />;
  return (
    <>
      <PageHead title={data.name} about="Documents and syncs.">
        <Link to={links.background()}>Background work</Link>
      </PageHead>
      <Facts base={data} />
      <SyncNow base={data} />
      <Documents knowledgeBaseId={knowledgeBaseId} total={data.total_files} />
      <Syncs knowledgeBaseId={knowledgeBaseId} />
    </>
  );
}

type Base = Schemas["KnowledgeBaseShown"];

function Facts({ base }: { readonly base: Base }): JSX.Element {
  const { total_files: all, total_error_files: failed, sync } = base;
  const [next] = sync.next_times ?? [];
  return (
    <dl className="panel facts facts-line">
      <Fact term="Documents">{all.toLocaleString()}</Fact>
      <Fact term="Waiting">{waitingOf(base).toLocaleString()}</Fact>
      <Fact term="Failed">{failed.toLocaleString()}</Fact>
      <Fact term="Knowledge base ID">
        <Id id={base.knowledge_base_id} label="knowledge base ID" />
      </Fact>
      <Fact term="Last synced">
        <Time at={base.last_synced_at} />
      </Fact>
      <Fact term="Next sync">{next === undefined ? "Not scheduled" : <Time at={next} isPlanned />}</Fact>
    </dl>
  );
}

/** Starts a sync, which retries failed documents; shows problems of the whole knowledge base. */
function SyncNow({ base }: { readonly base: Base }): JSX.Element {
  const { knowledge_base_id, sync, reindex_required } = base;
  const isEditor = useMay("editor");
  const start = useKnowledgeAction(syncNow);
  const isSyncing = sync.status === "pending" || sync.status === "running";
  return (
    <>
      {sync.last_error !== null && (
        <Notice tone="bad">
          <span className="wrap">Scheduled syncs are not running: {sync.last_error}</span>
        </Notice>
      )}
      {reindex_required && (
        <Notice tone="warn">
          The settings changed after these documents were indexed. Run a full sync (API: mode full) to reindex them.
        </Notice>
      )}
      {isEditor && (
        <div className="row">
          <button
            type="button"
            className="button"
            disabled={isSyncing || start.isPending}
            onClick={() => start.mutate(knowledge_base_id)}
          >
            Sync now
          </button>
          <span className="small muted">
            {isSyncing
              ? "A sync is running."
              : "Reads the sources again and retries failed documents. Deletes nothing."}
          </span>
        </div>
      )}
      {start.error && <Failure fault={start.error} />}
    </>
  );
}
