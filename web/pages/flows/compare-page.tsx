import { useQuery } from "@tanstack/react-query";
import { useMemo, type JSX } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { nodeKindsOptions } from "../../api/flows.ts";
import { projectDraftOptions, projectOptions, versionOptions } from "../../api/projects.ts";
import { compareFlows, type Comparison } from "../../flow/compare.ts";
import type { FlowDocument } from "../../flow/document.ts";
import { links } from "../../links.ts";
import { Diff } from "../../parts/diff/diff.tsx";
import { FlowGraph } from "../../parts/graph/flow-graph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Loading } from "../../parts/states.tsx";
import { ChangeList } from "./change-list.tsx";
import { graphOfChanges, insideOf } from "./change-graph.ts";
import { Missing } from "../missing-flow.tsx";
import { VersionSelect } from "./version-select.tsx";
import "./flows.css";

/** The difference of two versions, or of a version and the draft, on the canvas and node by node. */
export function CompareVersionsPage(): JSX.Element {
  const { projectId = "", from = "", to = "" } = useParams();
  const [search, setSearch] = useSearchParams();
  const navigate = useNavigate();
  const project = useQuery(projectOptions(projectId));
  const [one, other] = [useFlow(projectId, from), useFlow(projectId, to)];
  const kinds = useQuery(nodeKindsOptions);
  const changes = useMemo(
    () =>
      one.flow !== undefined && other.flow !== undefined && !kinds.isPending
        ? compareFlows(one.flow, other.flow, kinds.data)
        : null,
    [one.flow, other.flow, kinds.isPending, kinds.data],
  );
  const scope = search.get("in") ?? "";
  const graph = useMemo(
    () => changes && graphOfChanges(insideOf(changes.before, scope), insideOf(other.flow, scope), changes, scope),
    [changes, other.flow, scope],
  );
  const error = project.error ?? one.error ?? other.error;
  if (error) return <Missing error={error} />;
  if (!project.data) return <Loading what="the flow" />;

  const node = search.get("node");
  const show = (next: Readonly<Record<string, string>>): void => setSearch(next, { replace: true });
  const within = scope === "" ? "" : `${scope}/`;
  const select = (path: string | null): void => {
    const parts = (path ?? "").split("/");
    const inner = parts.slice(0, -1).join("/");
    show({ ...(inner !== "" && { in: inner }), ...(path !== null && path !== "" && { node: path }) });
  };
  const draftOption = <option value="draft">Draft</option>;
  return (
    <>
      <PageHead title={`${project.data.name} · ${nameOf(from)} to ${nameOf(to)}`}>
        <VersionSelect
          projectId={projectId}
          label="From"
          value={versionOf(from, project.data.published_version)}
          onChange={(value) => void navigate(links.flowCompare(projectId, value, to))}
          first={draftOption}
        />
        <span className="muted">to</span>
        <VersionSelect
          projectId={projectId}
          label="To"
          value={versionOf(to, project.data.published_version)}
          onChange={(value) => void navigate(links.flowCompare(projectId, from, value))}
          first={draftOption}
        />
        <Link className="button" to={links.flow(projectId)}>
          <Icon name="flows" /> Versions
        </Link>
      </PageHead>
      {(one.isGone || other.isGone) && (
        <Empty title="No draft">Everything is published. A draft exists from the first change in the editor on.</Empty>
      )}
      {!changes && !one.isGone && !other.isGone && <Loading what="the difference" />}
      {changes && graph && (
        <div className="compare">
          <section className="panel panel-flush compare-graph" aria-label="Canvas">
            <FlowGraph
              {...graph}
              isPlain
              selected={node !== null && node.startsWith(within) ? node.slice(within.length) : null}
              onSelect={(id) => select(within + id)}
              onOpen={(id) => show({ in: within + id })}
            />
          </section>
          <div className="stack">
            <ChangeList
              changes={changes}
              selected={node}
              scope={scope}
              scopes={[...changes.inside]}
              onSelect={select}
              onScope={(next) => show(next === "" ? {} : { in: next })}
            />
            {changes.fields.length > 0 && (
              <section className="stack-tight" aria-labelledby="settings">
                <h2 id="settings">Settings and examples</h2>
                <Diff {...sidesOf(changes.fields)} label="Settings and examples" />
              </section>
            )}
          </div>
        </div>
      )}
    </>
  );
}

/** The differences as two objects by path, for showing them. */
const sidesOf = (fields: Comparison["fields"]) => ({
  before: Object.fromEntries(fields.map(({ at, before }) => [at, before])),
  after: Object.fromEntries(fields.map(({ at, after }) => [at, after])),
});

const nameOf = (which: string): string =>
  which === "draft" ? "draft" : which === "published" ? "published version" : `version ${which}`;
const versionOf = (which: string, published: number | null): string =>
  which === "published" ? String(published ?? "") : which;

interface ReadFlow {
  /** Undefined until it is read. */
  readonly flow: FlowDocument | undefined;
  readonly error: Error | null;
  /** Whether it is a draft that the project does not have. */
  readonly isGone: boolean;
}

/** A flow by its name in the address: a version number, `published` or `draft`. */
function useFlow(projectId: string, which: string): ReadFlow {
  const isDraft = which === "draft";
  const draft = useQuery({ ...projectDraftOptions(projectId), enabled: isDraft });
  const number = which === "published" ? -1 : Number(which);
  const version = useQuery({ ...versionOptions(projectId, Number.isInteger(number) ? number : 0), enabled: !isDraft });
  return isDraft
    ? { flow: draft.data?.flow as FlowDocument | undefined, error: draft.error, isGone: draft.data === null }
    : { flow: version.data?.flow as FlowDocument | undefined, error: version.error, isGone: false };
}
