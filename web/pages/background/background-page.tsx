import { useQuery } from "@tanstack/react-query";
import type { UseQueryResult } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { experimentsOptions, jobsOptions, knowledgeBasesOptions } from "../../api/background.ts";
import { waitingOf } from "../../api/knowledge.ts";
import { links } from "../../links.ts";
import { toProblem } from "../../api/problem.ts";
import { Id } from "../../parts/copy.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

/** What goes on without anybody waiting for it: documents that are read and indexed, experiments, and jobs over many runs. */
export function BackgroundPage(): JSX.Element {
  return (
    <>
      <PageHead title="In the background" />
      <KnowledgeBases />
      <Experiments />
      <Jobs />
    </>
  );
}

function KnowledgeBases(): JSX.Element {
  return (
    <Part
      name="Knowledge bases"
      list={useQuery(knowledgeBasesOptions)}
      nothing="Documents that are read and indexed are counted here by knowledge base."
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
              <Id id={base.knowledge_base_id} label={`id of ${base.name}`} />
            </span>
          ),
        },
        { id: "files", head: "Documents", number: true, wideOnly: true, cell: (base) => count(base.total_files) },
        {
          id: "waiting",
          head: "Not yet indexed",
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
          head: "Last sync",
          wideOnly: true,
          cell: ({ sync }) => (sync.status === "idle" ? "-" : <Status state={sync.status} />),
        },
        { id: "synced", head: "Synced", wideOnly: true, cell: (base) => <Time at={base.last_synced_at} /> },
      ]}
    />
  );
}

/** How many documents of a knowledge base there are in a state, with the way to them. */
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

function Experiments(): JSX.Element {
  return (
    <Part
      name="Experiments"
      list={useQuery(experimentsOptions)}
      nothing="Experiments that run a flow over a dataset are listed here, the newest first."
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
          head: "Why",
          wideOnly: true,
          cell: ({ error }) => <span className="wrap">{error === null ? "-" : error.message}</span>,
        },
        { id: "at", head: "Created", cell: (each) => <Time at={each.created_at} /> },
      ]}
    />
  );
}

function Jobs(): JSX.Element {
  return (
    <Part
      name="Jobs over runs"
      list={useQuery(jobsOptions)}
      nothing="What is done with all runs that a filter finds is listed here, the newest first."
      keyOf={({ job_id: id }) => id}
      columns={[
        { id: "state", head: "State", cell: ({ state }) => <Status state={state} /> },
        {
          id: "action",
          head: "Action",
          cell: (job) => (
            <>
              {job.action} <Id id={job.job_id} label="job id" />
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

/** The newest of one kind, or that there are none, or why they are not shown. */
function Part<Row>({
  name,
  list: { data, error, isPending, refetch },
  nothing,
  keyOf,
  columns,
}: {
  readonly name: string;
  readonly list: UseQueryResult<{ readonly data: readonly Row[]; readonly has_more: boolean }>;
  readonly nothing: string;
  readonly keyOf: (row: Row) => string;
  readonly columns: ReadonlyArray<Column<Row>>;
}): JSX.Element {
  return (
    <section className="stack-tight" aria-label={`${name}, the newest`}>
      <h2>{name}</h2>
      {isPending && <Loading what={name} rows={3} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data?.data.length === 0 && (
        <div className="panel">
          <Empty title="None yet">{nothing}</Empty>
        </div>
      )}
      {data && data.data.length > 0 && <Table caption={name} rows={data.data} keyOf={keyOf} columns={columns} />}
      {data?.has_more === true && (
        <p className="small muted">The newest {count(data.data.length)} are shown; the API has the others.</p>
      )}
    </section>
  );
}
