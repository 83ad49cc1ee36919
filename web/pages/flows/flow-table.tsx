import type { JSX } from "react";
import { Link } from "react-router";
import type { ListedProject, ProjectActivity } from "../../api/projects.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { List } from "../../parts/list/list.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { DayPlot, sumDays } from "./day-plot.tsx";
import { placeOf, type Folder } from "./folders.ts";

export type Row = { readonly folder: Folder<ListedProject> } | { readonly flow: ListedProject };

type Listed = Parameters<typeof List<Row>>[0];

/** Folders and flows, one line each. */
export function FlowTable({
  isSearch,
  ...list
}: Pick<Listed, "query" | "empty" | "onClear" | "sorting" | "more" | "line"> & {
  /** Found flows show their whole name, because they come from all folders. */
  readonly isSearch: boolean;
}): JSX.Element {
  const columns: ReadonlyArray<Column<Row>> = [
    {
      id: "name",
      head: "Name",
      firstOrder: "asc",
      cell: (row) => ("folder" in row ? <FolderName {...row} /> : <FlowName flow={row.flow} isWhole={isSearch} />),
    },
    {
      id: "version",
      head: "Published",
      wideOnly: true,
      cell: (row) => ("folder" in row ? null : <Version flow={row.flow} />),
    },
    { id: "draft", head: "Draft", cell: (row) => ("folder" in row ? null : <Draft flow={row.flow} />) },
    {
      id: "run",
      head: "Last run",
      cell: (row) => <LastRun run={"folder" in row ? latestOf(row.folder) : (row.flow.activity?.last_run ?? null)} />,
    },
    {
      id: "days",
      head: "Runs a day",
      wideOnly: true,
      cell: (row) =>
        "folder" in row ? (
          <DayPlot days={sumDays(row.folder.items.flatMap(({ activity }) => (activity ? [activity.days] : [])))} />
        ) : (
          row.flow.activity && <DayPlot days={row.flow.activity.days} />
        ),
    },
    {
      id: "owner",
      head: "Owner",
      widestOnly: true,
      cell: (row) =>
        "folder" in row ? null : <span className="wrap">{row.flow.activity?.created_by_name ?? "-"}</span>,
    },
  ];
  return (
    <List
      {...list}
      items="flows"
      caption="Flows"
      columns={columns}
      keyOf={(row) => ("folder" in row ? `folder ${row.folder.path}` : row.flow.project_id)}
    />
  );
}

function FolderName({ folder }: { readonly folder: Folder<ListedProject> }): JSX.Element {
  const count = folder.items.length;
  return (
    <span className="flow-name">
      <Icon name="folder" />
      <span className="flow-title">
        <Link className="wrap" to={links.flows({ in: folder.path })} data-row>
          {folder.name}
        </Link>
        <span className="small muted nowrap">
          {count} {count === 1 ? "flow" : "flows"}
        </span>
      </span>
    </span>
  );
}

function FlowName({ flow, isWhole }: { readonly flow: ListedProject; readonly isWhole: boolean }): JSX.Element {
  return (
    <span className="flow-name">
      <Icon name="flows" />
      <span className="flow-title">
        <Link className="wrap" to={links.flow(flow.project_id)} data-row>
          {isWhole ? flow.name : placeOf(flow.name).leaf}
        </Link>
        {flow.description !== "" && <span className="small muted flow-line">{flow.description}</span>}
        <span className="small muted narrow-only">
          {flow.published_version === null ? "Not published" : `Version ${flow.published_version}`}
        </span>
      </span>
    </span>
  );
}

function Version({
  flow: { project_id, published_version, latest_version },
}: {
  readonly flow: ListedProject;
}): JSX.Element {
  if (published_version === null) return <span className="muted">Not published</span>;
  const newer = latest_version - published_version;
  return (
    <span className="nowrap">
      <Link to={links.flowVersion(project_id, published_version)}>Version {published_version}</Link>
      {newer > 0 && <span className="small muted"> of {latest_version}</span>}
    </span>
  );
}

function Draft({ flow: { project_id, activity } }: { readonly flow: ListedProject }): JSX.Element {
  const draft = activity?.draft;
  if (!draft) return <span className="muted">-</span>;
  return (
    <Link
      className="status tone-warn"
      to={links.flowCompare(project_id, "published", "draft")}
      title={`Changed by ${draft.changed_by_name ?? "a deleted user or key"}`}
    >
      <Icon name="pencil" /> <span className="visually-hidden">Changed </span>
      <Time at={draft.changed_at} />
    </Link>
  );
}

type LastRunOf = ProjectActivity["last_run"];

function LastRun({ run }: { readonly run: LastRunOf }): JSX.Element {
  if (run === null) return <span className="muted">-</span>;
  return (
    <span className="last-run">
      <Link to={links.run(run.run_id)}>
        <span className="visually-hidden">Last run: </span>
        <Status state={run.state} />
      </Link>
      <span className="small muted">
        <Time at={run.created_at} />
      </span>
    </span>
  );
}

/** The last run of all flows in a folder. */
export function latestOf({ items }: Folder<ListedProject>): LastRunOf {
  return items.reduce<LastRunOf>((latest, { activity }) => {
    const run = activity?.last_run ?? null;
    return run !== null && (latest === null || run.created_at > latest.created_at) ? run : latest;
  }, null);
}
