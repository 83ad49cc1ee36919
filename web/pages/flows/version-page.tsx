import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { environmentsOptions } from "../../api/environments.ts";
import { projectOptions, versionOptions } from "../../api/projects.ts";
import { links } from "../../links.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Fact } from "../../parts/facts.tsx";
import { FlowGraph } from "../../parts/graph/flow-graph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { Value } from "../../parts/value.tsx";
import { insideOf, nodeIn } from "./change-graph.ts";
import { shapeOf } from "./flow-shape.ts";
import { Missing } from "../missing-flow.tsx";
import { PublishVersion } from "./publish-version.tsx";
import "./flows.css";

/** One version: its picture, and the settings of the node that is chosen in it. */
export function VersionPage(): JSX.Element {
  const { projectId = "", version: text = "" } = useParams();
  const number = Number(text);
  const version = useQuery(versionOptions(projectId, Number.isInteger(number) ? number : 0));
  const project = useQuery(projectOptions(projectId));
  const { data: environments } = useQuery(environmentsOptions(projectId));
  const [search, setSearch] = useSearchParams();
  const mayEdit = useMay("editor", projectId);
  const [isPublishing, setPublishing] = useState(false);
  const scope = search.get("in") ?? "";
  const flow = version.data?.flow;
  const graph = useMemo(() => graphOf(insideOf(flow, scope)), [flow, scope]);
  const error = version.error ?? project.error;
  if (error) return <Missing error={error} />;
  if (!version.data || !project.data) return <Loading what="the version" />;

  const { notes, published, created_at, created_by_name } = version.data;
  const node = search.get("node");
  const chosen = node === null ? undefined : settingsOf(insideOf(flow, scope), node);
  const show = (next: Readonly<Record<string, string>>): void =>
    setSearch({ ...(scope !== "" && { in: scope }), ...next }, { replace: true });
  const published_version = project.data.published_version;
  const runsIn = (environments?.data ?? []).flatMap((each) =>
    each.version === version.data.version ? [each.name] : [],
  );
  return (
    <>
      <PageHead
        title={`${project.data.name} · Version ${version.data.version}`}
        {...(notes !== "" && { about: notes })}
      >
        {published ? (
          <span className="status tone-good">
            <Icon name="check" /> Published
          </span>
        ) : (
          published_version !== null && (
            <Link
              className="button"
              to={links.flowCompare(projectId, String(published_version), String(version.data.version))}
            >
              <Icon name="compare" /> Compare with published
            </Link>
          )
        )}
        {mayEdit && !published && (
          <button type="button" className="button" onClick={() => setPublishing(true)}>
            {published_version !== null && number < published_version ? "Roll back…" : "Publish…"}
          </button>
        )}
        <CopyButton text={() => JSON.stringify(flow, null, 2)} label="flow as JSON">
          Copy JSON
        </CopyButton>
        <Link className="button" to={links.flow(projectId)}>
          <Icon name="flows" /> Versions
        </Link>
      </PageHead>
      <dl className="facts-line">
        <Fact term="Created">
          <Time at={created_at} />
        </Fact>
        <Fact term="By">{created_by_name ?? "A deleted user or key"}</Fact>
        {runsIn.length > 0 && (
          <Fact term="Environments">
            <Link to={links.flowEnvironments(projectId)}>{runsIn.join(", ")}</Link>
          </Fact>
        )}
        <Fact term="Nodes">{graph.nodes.length}</Fact>
        {scope !== "" && (
          <Fact term="Canvas shows">
            inside {scope} · <Link to={links.flowVersion(projectId, version.data.version)}>Whole flow</Link>
          </Fact>
        )}
      </dl>
      <div className="compare">
        <section className="panel panel-flush compare-graph" aria-label="Canvas">
          <FlowGraph
            {...graph}
            isPlain
            selected={node}
            onSelect={(id) => show({ node: id })}
            onOpen={(id) => setSearch({ in: scope === "" ? id : `${scope}/${id}` })}
          />
        </section>
        <section className="panel stack-tight" aria-label="Node">
          {chosen === undefined ? (
            <p className="muted">Choose a node to see its settings.</p>
          ) : (
            <>
              <h2 className="wrap">{node}</h2>
              <Value value={chosen} label={`Settings of ${node}`} />
            </>
          )}
        </section>
      </div>
      {isPublishing && (
        <PublishVersion
          projectId={projectId}
          version={version.data.version}
          published={published_version}
          onClose={() => setPublishing(false)}
        />
      )}
    </>
  );
}

function settingsOf(flow: unknown, id: string): unknown {
  const found = nodeIn(flow, id);
  if (found === undefined) return undefined;
  const { id: _, ...fields } = found;
  return fields;
}

function graphOf(flow: unknown) {
  const { nodes, edges } = shapeOf(flow);
  return {
    nodes: nodes.map(({ id, type, name }) => ({
      id,
      type,
      name: name ?? id,
      state: null,
      note: null,
      opens: insideOf(flow, id) !== undefined,
    })),
    edges: edges.map(({ source, source_handle, target }) => ({
      source,
      target,
      label: source_handle?.replace(/^case:/, "") ?? null,
      taken: true,
    })),
  };
}
