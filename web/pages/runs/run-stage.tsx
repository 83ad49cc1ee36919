import { useQuery } from "@tanstack/react-query";
import { Suspense, lazy, useCallback, useMemo, useState, type JSX } from "react";
import { Link } from "react-router";
import type { LiveTexts } from "../../api/live-texts.ts";
import { flowOptions, type RunWithNodes } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { Boundary } from "../../parts/boundary.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure, Loading, Notice } from "../../parts/states.tsx";
import { Timeline } from "../../parts/timeline/timeline.tsx";
import { ItemDetails } from "./item-details.tsx";
import { useNodeNames } from "./node-names.tsx";
import { NodeDetails } from "./node-details.tsx";
import { around, placesAround, scopeOf, treeOf, type NodeTree } from "./node-tree.ts";
import { RunDetails } from "./run-details.tsx";
import { flowShape, flowWithin, pathInFlow, ranksOf } from "./flow-shape.ts";
import { graphOf, shownIn } from "./run-graph-data.ts";
import { timelineRows } from "./timeline-rows.ts";

// The graph is a third of the page's code, so it loads in parallel with the data.
const graphChunk = import("../../parts/graph/flow-graph.tsx");
// A failed load must not break the page; the graph shows the error instead.
graphChunk.catch(() => undefined);
const FlowGraph = lazy(async () => ({ default: (await graphChunk).FlowGraph }));

/** One level of the breadcrumb: the run or an open subflow. */
export interface Crumb {
  readonly label: string;
  readonly via: readonly string[];
}

/** Graph of a run's flow, details of the selected node, and timeline; all three share one selection. */
export function RunStage({
  run,
  texts,
  selected,
  crumbs,
  onSelect,
  onEnter,
  onLeave,
}: {
  readonly run: RunWithNodes;
  readonly texts: LiveTexts;
  readonly selected: string | null;
  readonly crumbs: readonly Crumb[];
  readonly onSelect: (path: string | null) => void;
  /** Opens the child run of a subflow node. */
  readonly onEnter: (path: string) => void;
  readonly onLeave: (via: readonly string[], node: string | null) => void;
}): JSX.Element {
  const { data: version, error: flowError } = useQuery(flowOptions(run.project_id, run.flow_version));
  const nodes = useMemo(() => run.nodes ?? [], [run.nodes]);
  const names = useNodeNames(run);
  const ranks = useMemo(() => ranksOf(version?.flow), [version]);
  const tree = useMemo(() => treeOf(nodes, names, ranks), [nodes, names, ranks]);
  const scope = scopeOf(tree, selected);
  const whole = useMemo(() => flowShape(version?.flow), [version]);
  const flow = useMemo(() => flowWithin(whole, scope), [whole, scope]);
  const drawn = useMemo(() => graphOf(flow, tree, scope), [flow, tree, scope]);
  const before = scope === null ? "" : `${scope}/`;
  const chosen = selected === null ? undefined : tree.byPath.get(selected);
  const planned = flow.nodes.find(({ id }) => before + id === selected);

  const open = useCallback(
    (path: string) => {
      const node = tree.byPath.get(path);
      if (node?.run?.child_run_id != null) onEnter(path);
      else onSelect(firstItem(tree, path));
    },
    [tree, onEnter, onSelect],
  );

  return (
    <>
      <Crumbs run={run} crumbs={crumbs} tree={tree} scope={scope} onLeave={onLeave} onSelect={onSelect} />
      <div className="run-stage">
        <section className="panel panel-flush run-graph" aria-label="Flow">
          {flowError ? (
            <Failure fault={flowError} />
          ) : (
            <Boundary what="flow graph" place={`${run.run_id} ${scope}`}>
              <Suspense fallback={<Loading what="the flow" />}>
                {version && (
                  <FlowGraph
                    key={scope === null ? "" : pathInFlow(scope)}
                    nodes={drawn.nodes}
                    edges={drawn.edges}
                    selected={shownIn(scope, selected)}
                    onSelect={(id) => onSelect(before + id)}
                    onOpen={(id) => open(before + id)}
                  />
                )}
              </Suspense>
            </Boundary>
          )}
        </section>
        <section className="panel run-details" aria-label="Details" tabIndex={0}>
          {chosen && chosen.run === null ? (
            <ItemDetails item={chosen} tree={tree} onSelect={onSelect} />
          ) : chosen || planned ? (
            <NodeDetails
              key={selected}
              run={run}
              nodes={nodes}
              path={selected ?? ""}
              node={chosen}
              planned={planned}
              texts={texts}
              onSelect={onSelect}
              onOpen={open}
            />
          ) : (
            <RunDetails run={run} />
          )}
        </section>
      </div>
      {nodes.length > 0 && <InTime run={run} tree={tree} selected={selected} onSelect={onSelect} />}
    </>
  );
}

/** The item of a map or loop to show first: one that failed, one that is running, or the first. */
function firstItem(tree: NodeTree, path: string): string {
  const items = tree.byPath.get(path)?.children.filter(({ index }) => index !== null) ?? [];
  const failed = items.find(({ children }) => children.some(({ run }) => run?.state === "FAILED"));
  const running = items.find(({ children }) => children.some(({ run }) => run?.finished_at === null));
  return (failed ?? running ?? items[0])?.path ?? path;
}

/** Breadcrumb from the run to the visible flow, with links to other items. */
function Crumbs({
  run,
  crumbs,
  tree,
  scope,
  onLeave,
  onSelect,
}: {
  readonly run: RunWithNodes;
  readonly crumbs: readonly Crumb[];
  readonly tree: NodeTree;
  readonly scope: string | null;
  readonly onLeave: (via: readonly string[], node: string | null) => void;
  readonly onSelect: (path: string | null) => void;
}): JSX.Element | null {
  if (crumbs.length === 1 && scope === null) return null;
  const places = scope === null ? [] : [...placesAround(tree, scope), scope];
  const beside = scope === null ? [] : (tree.byPath.get(around(scope, true) ?? "")?.children ?? []);
  const at = beside.findIndex(({ path }) => path === scope);
  const step = (by: number) => ({
    disabled: beside[at + by] === undefined,
    onClick: () => onSelect(beside[at + by]?.path ?? scope),
  });
  return (
    <nav className="spread" aria-label="Breadcrumb">
      <ol className="row crumbs">
        {crumbs.map(({ label, via }, index) => (
          <li key={via.join(" ")}>
            {index === crumbs.length - 1 && scope === null ? (
              <span aria-current="location">{label}</span>
            ) : (
              <button type="button" className="button button-quiet button-small" onClick={() => onLeave(via, null)}>
                {label}
              </button>
            )}
          </li>
        ))}
        {places.map((place) => (
          <li key={place}>
            {place === scope ? (
              <span aria-current="location">{tree.byPath.get(place)?.label}</span>
            ) : (
              <button type="button" className="button button-quiet button-small" onClick={() => onSelect(place)}>
                {tree.byPath.get(place)?.label}
              </button>
            )}
          </li>
        ))}
      </ol>
      <div className="row">
        {at !== -1 && (
          <>
            <button type="button" className="button button-small" {...step(-1)}>
              Previous item
            </button>
            <button type="button" className="button button-small" {...step(1)}>
              Next item
            </button>
          </>
        )}
        {crumbs.length > 1 && (
          <Link className="button button-small" to={links.run(run.run_id)}>
            <Icon name="open" /> Open child run
          </Link>
        )}
      </div>
    </nav>
  );
}

function InTime({
  run,
  tree,
  selected,
  onSelect,
}: {
  readonly run: RunWithNodes;
  readonly tree: NodeTree;
  readonly selected: string | null;
  readonly onSelect: (path: string) => void;
}): JSX.Element {
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const rows = useMemo(() => {
    const open = new Set([...folds].flatMap(([path, isOpen]) => (isOpen ? [path] : [])));
    // The parents of the selected node are unfolded, unless the user has folded them.
    if (selected !== null)
      for (const place of placesAround(tree, selected)) if (folds.get(place) !== false) open.add(place);
    return timelineRows(tree, open);
  }, [tree, folds, selected]);
  const fold = useCallback(
    (path: string, isOpen: boolean) => setFolds((known) => new Map(known).set(path, isOpen)),
    [],
  );
  return (
    <section className="stack-tight" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {run.nodes_truncated === true && (
        <Notice tone="warn">Showing the first {run.nodes?.length.toLocaleString()} nodes; the run has more.</Notice>
      )}
      <div className="panel panel-flush">
        <Timeline
          rows={rows}
          from={run.started_at ?? run.created_at}
          to={run.finished_at}
          selected={selected}
          onSelect={onSelect}
          onFold={fold}
        />
      </div>
    </section>
  );
}
