import type { JSX } from "react";
import { Link } from "react-router";
import { RUN_TYPE_NAMES, type Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyButton, shortId } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { List } from "../../parts/list/list.tsx";
import { MarkdownLine } from "../../parts/markdown/markdown.tsx";
import { useProjectName } from "../project-names.ts";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Elapsed, Time, duration } from "../../parts/time.tsx";

const SHOWN = { wideOnly: true, choice: "shown" } as const;
const LEAST = { ...SHOWN, widestOnly: true } as const;
const HIDDEN = { wideOnly: true, choice: "hidden" } as const;
/** All columns except the run's name, which needs its project. */
const COLUMNS: ReadonlyArray<Column<Run>> = [
  { id: "note", head: "Details", ...SHOWN, cell: (run) => <Note run={run} /> },
  // This column stays visible in a narrow window, without horizontal scrolling.
  { id: "created", head: "Created", cell: (run) => <Time at={run.created_at} /> },
  {
    id: "took",
    head: "Duration",
    number: true,
    ...SHOWN,
    cell: (run) => <Elapsed from={run.started_at} to={run.finished_at} />,
  },
  { id: "version", head: "Version", number: true, ...LEAST, cell: (run) => run.flow_version },
  { id: "type", head: "Run type", ...LEAST, cell: (run) => RUN_TYPE_NAMES[run.run_type] },
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
  { id: "cost", head: "Cost (USD)", number: true, ...HIDDEN, cell: (run) => run.usage.cost_usd?.toFixed(4) ?? "-" },
  { id: "queued", head: "Queue time", number: true, ...HIDDEN, cell: (run) => duration(run.queued_ms) },
  { id: "ended", head: "Finished", ...HIDDEN, cell: (run) => <Time at={run.finished_at} /> },
];

/** Runs as a table with the columns that the user has chosen. */
export function RunTable(
  list: Pick<Parameters<typeof List<Run>>[0], "query" | "onClear" | "line" | "order" | "selection">,
): JSX.Element {
  const nameOf = useProjectName();
  return (
    <List
      {...list}
      dense
      items="runs"
      caption="Runs"
      more="Load older runs"
      placeholder={10}
      keyOf={(run) => run.run_id}
      empty={{
        title: "No runs yet",
        text: (
          <>
            Start one with <code>{START}</code> or <code>POST /v2/runs</code>. It appears here at once.
          </>
        ),
        action: (
          <CopyButton text={START} label="command">
            Copy command
          </CopyButton>
        ),
      }}
      columns={[
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
      ]}
    />
  );
}

/** The command that starts a run. */
const START = "millrace run <project>";

/** A message about a node. The ID of a named node comes last, because a narrow line cuts it off first. */
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

/** The most important fact about a run in a list: its error, what it waits for, and so on. */
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
