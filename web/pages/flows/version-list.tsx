import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, useNavigate } from "react-router";
import { useMay } from "../../api/accounts.ts";
import {
  LATEST_RUNS,
  latestRunsOptions,
  projectExperimentsOptions,
  projectMonitorsOptions,
  projectTriggersOptions,
  type FlowVersion,
} from "../../api/projects.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { PublishVersion } from "./publish-version.tsx";

/** The versions of a flow, newest first. */
export function VersionList({
  projectId,
  versions,
  published,
  hasDraft,
}: {
  readonly projectId: string;
  readonly versions: readonly FlowVersion[];
  readonly published: number | null;
  readonly hasDraft: boolean;
}): JSX.Element {
  const mayEdit = useMay("editor", projectId);
  const usesOf = useUses(projectId, published);
  const [chosen, setChosen] = useState<number | null>(null);
  return (
    <>
      <CompareForm projectId={projectId} versions={versions} published={published} hasDraft={hasDraft} />
      <Table
        caption="Versions"
        rows={versions}
        keyOf={({ version }) => String(version)}
        columns={[
          {
            id: "version",
            head: "Version",
            cell: ({ version, notes }) => (
              <span className="version-name">
                <Link className="nowrap" to={links.flowVersion(projectId, version)} data-row>
                  Version {version}
                </Link>
                {version === published && (
                  <span className="status tone-good">
                    <Icon name="check" /> Published
                  </span>
                )}
                {notes !== "" && <span className="small muted wrap clamp narrow-only">{notes}</span>}
              </span>
            ),
          },
          {
            id: "notes",
            head: "Notes",
            wideOnly: true,
            cell: ({ notes }) => <span className="wrap clamp">{notes === "" ? "-" : notes}</span>,
          },
          { id: "uses", head: "Used by", wideOnly: true, cell: ({ version }) => <Uses uses={usesOf(version)} /> },
          {
            id: "made",
            head: "Created",
            cell: ({ created_at, created_by_name }) => (
              <span className="version-made">
                <Time at={created_at} />
                <span className="small muted wrap">{created_by_name ?? "A deleted user or key"}</span>
              </span>
            ),
          },
          ...(mayEdit
            ? [
                {
                  id: "actions",
                  head: "Actions",
                  cell: ({ version }: FlowVersion) =>
                    version !== published && (
                      <button type="button" className="button button-small" onClick={() => setChosen(version)}>
                        {published !== null && version < published ? "Roll back…" : "Publish…"}
                        <span className="visually-hidden"> version {version}</span>
                      </button>
                    ),
                },
              ]
            : []),
        ]}
      />
      {chosen !== null && (
        <PublishVersion projectId={projectId} version={chosen} published={published} onClose={() => setChosen(null)} />
      )}
    </>
  );
}

interface Use {
  readonly text: string;
  readonly title?: string;
  readonly to?: string;
}

function Uses({ uses }: { readonly uses: readonly Use[] }): JSX.Element {
  if (uses.length === 0) return <span className="muted">-</span>;
  return (
    <ul className="uses">
      {uses.map(({ text, title, to }) => (
        <li key={text} title={title}>
          {to === undefined ? text : <Link to={to}>{text}</Link>}
        </li>
      ))}
    </ul>
  );
}

const counted = (count: number, one: string): string => `${count.toLocaleString()} ${one}${count === 1 ? "" : "s"}`;

/** What used each version: the latest runs, experiments, monitors that score it, and triggers, which start the published one. */
function useUses(projectId: string, published: number | null): (version: number) => Use[] {
  // Lists of evaluations are closed to people who have a role in projects only.
  const isViewer = useMay("viewer");
  const { data: runs } = useQuery(latestRunsOptions(projectId));
  const { data: experiments } = useQuery({ ...projectExperimentsOptions(projectId), enabled: isViewer });
  const { data: monitors } = useQuery({ ...projectMonitorsOptions(projectId), enabled: isViewer });
  const { data: triggers } = useQuery(projectTriggersOptions(projectId));
  return (version) => {
    const started = version === published ? (triggers?.data ?? []).length : 0;
    const ran = (runs?.data ?? []).filter(({ flow_version }) => flow_version === version).length;
    const scored = (experiments?.data ?? []).filter(({ flow_version }) => flow_version === version);
    const watched = (monitors?.data ?? []).filter(({ flow_versions }) =>
      flow_versions === null ? version === published : flow_versions.includes(version),
    );
    const [experiment] = scored;
    return [
      ...(ran > 0
        ? [
            {
              text: counted(ran, "run"),
              title:
                runs?.has_more === true ? `Of the newest ${LATEST_RUNS} runs of the flow` : "Of all runs of the flow",
              to: links.runs({ project_id: projectId }),
            },
          ]
        : []),
      ...(experiment
        ? [
            {
              text: counted(scored.length, "experiment"),
              title: scored.map(({ name }) => name).join(", "),
              to: links.experiment(experiment.experiment_id),
            },
          ]
        : []),
      ...(started > 0 ? [{ text: counted(started, "trigger") }] : []),
      ...(watched.length > 0
        ? [{ text: counted(watched.length, "monitor"), title: watched.map(({ name }) => name).join(", ") }]
        : []),
    ];
  };
}

/** Chooses two versions, or a version and the draft, to compare. */
function CompareForm({
  projectId,
  versions,
  published,
  hasDraft,
}: {
  readonly projectId: string;
  readonly versions: readonly FlowVersion[];
  readonly published: number | null;
  readonly hasDraft: boolean;
}): JSX.Element | null {
  const navigate = useNavigate();
  const [first, second] = versions;
  const [from, setFrom] = useState(String(second?.version ?? published ?? first?.version ?? ""));
  const [to, setTo] = useState(hasDraft ? "draft" : String(first?.version ?? ""));
  if (versions.length + (hasDraft ? 1 : 0) < 2) return null;
  const options = versions.map(({ version }) => (
    <option key={version} value={version}>
      Version {version}
    </option>
  ));
  return (
    <form
      className="row"
      aria-label="Compare versions"
      onSubmit={(event) => {
        event.preventDefault();
        void navigate(links.flowCompare(projectId, from, to));
      }}
    >
      <select
        className="input input-short"
        aria-label="From"
        value={from}
        onChange={({ target }) => setFrom(target.value)}
      >
        {options}
      </select>
      <span className="muted">to</span>
      <select className="input input-short" aria-label="To" value={to} onChange={({ target }) => setTo(target.value)}>
        {hasDraft && <option value="draft">Draft</option>}
        {options}
      </select>
      <button type="submit" className="button" disabled={from === to}>
        <Icon name="compare" /> Compare
      </button>
    </form>
  );
}
