import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, useParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { knowledgeBaseOptions, syncNow, useKnowledgeAction, waitingOf } from "../../api/knowledge.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Id } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Failure, Loading, Notice } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { DetailFailure } from "./detail-failure.tsx";
import { Documents } from "./documents.tsx";
import { Syncs } from "./syncs.tsx";

/** One knowledge base as who operates it sees it: which documents wait or failed, why, and what its syncs did. */
export function KnowledgeBasePage(): JSX.Element {
  const { knowledgeBaseId = "" } = useParams();
  const { data, error, isPending, refetch } = useQuery(knowledgeBaseOptions(knowledgeBaseId));
  if (isPending) return <Loading what="the knowledge base" />;
  if (data === undefined) return <DetailFailure what="knowledge base" error={error} retry={() => void refetch()} />;
  return (
    <>
      <PageHead title={data.name}>
        <Link to={links.background()}>In the background</Link>
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
      <Fact term="Not yet indexed">{waitingOf(base).toLocaleString()}</Fact>
      <Fact term="Failed">{failed.toLocaleString()}</Fact>
      <Fact term="Knowledge base">
        <Id id={base.knowledge_base_id} label="knowledge base id" />
      </Fact>
      <Fact term="Synced">
        <Time at={base.last_synced_at} />
      </Fact>
      <Fact term="Next sync">{next === undefined ? "none planned" : <Time at={next} isPlanned />}</Fact>
    </dl>
  );
}

/** Tries again what failed; and says what holds a knowledge base up as a whole. */
function SyncNow({ base }: { readonly base: Base }): JSX.Element {
  const { knowledge_base_id, sync, reindex_required } = base;
  const isEditor = useMay("editor");
  const start = useKnowledgeAction(syncNow);
  const isSyncing = sync.status === "pending" || sync.status === "running";
  return (
    <>
      {sync.last_error !== null && (
        <Notice tone="bad">
          <span className="wrap">It is not synced by its schedule: {sync.last_error}</span>
        </Notice>
      )}
      {reindex_required && (
        <Notice tone="warn">
          Its settings have changed since its documents were indexed. A sync with the mode full brings them up to date.
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
              ? "A sync is under way."
              : "Reads its sources again, and tries again what failed. It deletes nothing."}
          </span>
        </div>
      )}
      {start.error && <Failure fault={toProblem(start.error)} />}
    </>
  );
}
