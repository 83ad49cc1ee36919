import type { JSX, ReactNode } from "react";
import { Link } from "react-router";
import type { Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { useColumns } from "../../parts/columns.tsx";
import { CopyCurl, shortId } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { MarkdownLine } from "../../parts/markdown/markdown.tsx";
import { useProjectName } from "../project-names.ts";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import type { Column } from "../../parts/table.tsx";
import { Elapsed, Time, duration } from "../../parts/time.tsx";

const SHOWN = { wideOnly: true, choice: "shown" } as const;
const LEAST = { ...SHOWN, widestOnly: true } as const;
const HIDDEN = { wideOnly: true, choice: "hidden" } as const;
/** All but the name of the run, which needs its project. */
const COLUMNS: ReadonlyArray<Column<Run>> = [
  { id: "note", head: "What", ...SHOWN, cell: (run) => <Note run={run} /> },
  // Seen in a narrow window without going to the side.
  { id: "created", head: "Created", cell: (run) => <Time at={run.created_at} /> },
  {
    id: "took",
    head: "Took",
    number: true,
    ...SHOWN,
    cell: (run) => <Elapsed from={run.started_at} to={run.finished_at} />,
  },
  { id: "version", head: "Version", number: true, ...LEAST, cell: (run) => run.flow_version },
  { id: "type", head: "Started by", ...LEAST, cell: (run) => run.run_type.replace("_", " ") },
  { id: "user", head: "User", ...HIDDEN, cell: (run) => <span className="run-error">{run.user_id ?? "-"}</span> },
  { id: "tags", head: "Tags", ...HIDDEN, cell: (run) => <span className="run-error">{run.tags.join(", ")}</span> },
  {
    id: "progress",
    head: "Nodes",
    number: true,
    ...LEAST,
    cell: ({ progress_data: done }) => `${done.completed_nodes + done.skipped_nodes} / ${done.total_nodes}`,
  },
  {
    id: "tokens",
    head: "Tokens",
    number: true,
    ...HIDDEN,
    cell: (run) => run.usage.total_tokens.toLocaleString(),
  },
  { id: "cost", head: "USD", number: true, ...HIDDEN, cell: (run) => run.usage.cost_usd?.toFixed(4) ?? "-" },
  { id: "queued", head: "Waited", number: true, ...HIDDEN, cell: (run) => duration(run.queued_ms) },
  { id: "ended", head: "Ended", ...HIDDEN, cell: (run) => <Time at={run.finished_at} /> },
];

/** Runs as a table, with the columns that its reader wants. */
export function RunTable({
  runs,
  command,
  notice,
}: {
  readonly runs: readonly Run[];
  /** What there is to say of the list. */
  readonly notice: ReactNode;
  /** What lists them, for a shell. */
  readonly command: string;
}): JSX.Element {
  const nameOf = useProjectName();
  const { shown, chooser } = useColumns<Run>("runs", [
    { id: "state", head: "State", cell: (run) => <Status state={run.state} /> },
    {
      id: "run",
      head: "Run",
      cell: (run) => (
        <Link className="run-name" to={links.run(run.run_id)} data-row title={run.run_id}>
          <span className="wrap" title={nameOf(run.project_id)}>
            {nameOf(run.project_id)}
          </span>
          <code>{shortId(run.run_id)}</code>
        </Link>
      ),
    },
    ...COLUMNS,
  ]);
  return (
    <div className="stack-tight" data-list>
      <div className="list-line">
        {notice}
        <CopyCurl command={command} />
        {chooser}
      </div>
      <Table dense caption="Runs" columns={shown} rows={runs} keyOf={(run) => run.run_id} />
    </div>
  );
}

/** What happened at a node. The id of one that has a name comes last: a line has room for little. */
function AtNode({
  name,
  path,
  text,
}: {
  readonly name: string | null;
  readonly path: string | null;
  readonly text: string;
}): JSX.Element {
  if (path === null) return <>{text}</>;
  if (name === null)
    return (
      <>
        <code>{path}</code> {text}
      </>
    );
  return (
    <>
      <strong>{name}</strong> {text} <code className="muted">{path}</code>
    </>
  );
}

/** The one thing worth saying of a run in a list. */
function Note({ run }: { readonly run: Run }): JSX.Element | null {
  if (run.error) {
    return (
      <span className="run-error" title={run.error.message}>
        <AtNode name={run.error.node_name} path={run.error.path} text={run.error.message} />
      </span>
    );
  }
  if (run.waiting_for) {
    return (
      <span className="run-error" title={run.waiting_for.reason}>
        <Icon name="retry" />{" "}
        <AtNode name={run.waiting_for.node_name} path={run.waiting_for.path} text={run.waiting_for.reason} />
      </span>
    );
  }
  const open = run.pauses.find(({ status }) => status === "waiting");
  if (open)
    return (
      <span className="run-error" title={open.message}>
        <MarkdownLine text={open.message} />
      </span>
    );
  return run.tags.length === 0 ? null : <span className="run-error muted">{run.tags.join(", ")}</span>;
}
