import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { JSX, ReactNode } from "react";
import { Link } from "react-router";
import { experimentsOptions, jobsOptions, knowledgeBasesOptions } from "../../api/background.ts";
import type { Schemas } from "../../api/client.ts";
import type { RunJobAction } from "../../api/run-jobs.ts";
import { waitingOf } from "../../api/knowledge.ts";
import { links } from "../../links.ts";
import { Id } from "../../parts/copy.tsx";
import { List } from "../../parts/list/list.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

/** Work in the background: indexing of documents, experiments, and bulk run jobs. */
export function BackgroundPage(): JSX.Element {
  const bases = useQuery(knowledgeBasesOptions);
  const experiments = useQuery(experimentsOptions);
  const jobs = useQuery(jobsOptions);
  const isIdle = [bases, experiments, jobs].every(({ data }) => data?.data.length === 0);
  return (
    <>
      <PageHead about="Indexing, experiments and bulk run jobs in progress." />
      {isIdle ? (
        <Empty title="Nothing running">Syncs, experiments and bulk run jobs appear here while they run.</Empty>
      ) : (
        <>
          <KnowledgeBases list={bases} />
          <Experiments list={experiments} />
          <Jobs list={jobs} />
        </>
      )}
    </>
  );
}

interface Read<Row> {
  readonly list: UseQueryResult<{ readonly data: readonly Row[]; readonly has_more: boolean }>;
}

function KnowledgeBases({ list }: Read<Schemas["KnowledgeBase"]>): JSX.Element {
  return (
    <Part
      name="Knowledge bases"
      list={list}
      nothing="Create one to search documents by meaning or keyword, in flows and over HTTP."
      keyOf={({ knowledge_base_id: id }) => id}
      columns={[
        {
          id: "name",
          head: "Name",
          cell: (base) => (
            <span className="wrap">
              <Link to={links.knowledgeBase(base.knowledge_base_id)} data-row>
                {base.name}
              </Link>{" "}
              <Id id={base.knowledge_base_id} label={`ID of ${base.name}`} />
            </span>
          ),
        },
        { id: "files", head: "Documents", number: true, wideOnly: true, cell: (base) => count(base.total_files) },
        {
          id: "waiting",
          head: "Waiting",
          number: true,
          cell: (base) => <Counted base={base} documents="waiting" many={waitingOf(base)} />,
        },
        {
          id: "errors",
          head: "Failed",
          number: true,
          cell: (base) => <Counted base={base} documents="failed" many={base.total_error_files} />,
        },
        {
          id: "sync",
          head: "Sync state",
          wideOnly: true,
          cell: ({ sync }) => (sync.status === "idle" ? "-" : <Status state={sync.status} />),
        },
        { id: "synced", head: "Last synced", wideOnly: true, cell: (base) => <Time at={base.last_synced_at} /> },
      ]}
    />
  );
}

/** Number of documents of a knowledge base in a state, as a link to them. */
function Counted({
  base,
  documents,
  many,
}: {
  readonly base: { readonly knowledge_base_id: string; readonly name: string };
  readonly documents: "waiting" | "failed";
  readonly many: number;
}): JSX.Element {
  if (many === 0) return <>0</>;
  return (
    <Link to={links.knowledgeBase(base.knowledge_base_id, { documents })}>
      {documents === "failed" ? <strong className="field-error">{count(many)}</strong> : count(many)}
      <span className="visually-hidden"> in {base.name}</span>
    </Link>
  );
}

function Experiments({ list }: Read<Schemas["Experiment"]>): JSX.Element {
  return (
    <Part
      name="Experiments"
      list={list}
      nothing={
        <>
          Choose a flow, a dataset and evaluators, and run <code>millrace eval run &lt;file&gt;</code>.
        </>
      }
      keyOf={({ experiment_id: id }) => id}
      columns={[
        { id: "state", head: "State", cell: ({ state }) => <Status state={state} /> },
        {
          id: "name",
          head: "Name",
          cell: (each) => (
            <span className="wrap">
              <Link to={links.experiment(each.experiment_id)} data-row>
                {each.name}
              </Link>
              {each.verdict !== null && (
                <span className="narrow-only">
                  <Status state={each.verdict} />
                </span>
              )}
            </span>
          ),
        },
        {
          id: "verdict",
          head: "Verdict",
          wideOnly: true,
          cell: ({ verdict }) => (verdict === null ? "-" : <Status state={verdict} />),
        },
        {
          id: "why",
          head: "Reason",
          wideOnly: true,
          cell: ({ error }) => <span className="wrap clamp">{error === null ? "-" : error.message}</span>,
        },
        { id: "at", head: "Created", cell: (each) => <Time at={each.created_at} /> },
      ]}
    />
  );
}

const ACTIONS: Readonly<Record<RunJobAction, string>> = { cancel: "Cancel", resume: "Resume", replay: "Rerun" };

function Jobs({ list }: Read<Schemas["RunJob"]>): JSX.Element {
  return (
    <Part
      name="Bulk run jobs"
      list={list}
      nothing="Bulk cancel, resume and rerun jobs appear here. Start one from Runs › All matching runs."
      keyOf={({ job_id: id }) => id}
      columns={[
        { id: "state", head: "State", cell: ({ state }) => <Status state={state} /> },
        {
          id: "action",
          head: "Action",
          cell: (job) => (
            <>
              {ACTIONS[job.action]} <Id id={job.job_id} label="job ID" />
              <span className="narrow-only small muted">
                <Time at={job.created_at} />
              </span>
            </>
          ),
        },
        {
          id: "done",
          head: "Done",
          number: true,
          cell: ({ counts }) => `${count(counts.done)} of ${count(counts.matched)}`,
        },
        { id: "failed", head: "Failed", number: true, wideOnly: true, cell: ({ counts }) => count(counts.failed) },
        { id: "at", head: "Created", wideOnly: true, cell: (job) => <Time at={job.created_at} /> },
      ]}
    />
  );
}

const count = (many: number): string => many.toLocaleString();

/** The newest items of one type. */
function Part<Row>({
  name,
  list,
  nothing,
  keyOf,
  columns,
}: Read<Row> & {
  readonly name: string;
  readonly nothing: ReactNode;
  readonly keyOf: (row: Row) => string;
  readonly columns: ReadonlyArray<Column<Row>>;
}): JSX.Element {
  const items = name.toLowerCase();
  return (
    <section className="stack-tight" aria-label={`${name}, newest first`}>
      <h2>{name}</h2>
      <List
        query={list}
        items={items}
        caption={name}
        placeholder={3}
        empty={{ title: `No ${items} yet`, text: nothing }}
        keyOf={keyOf}
        columns={columns}
      />
    </section>
  );
}
