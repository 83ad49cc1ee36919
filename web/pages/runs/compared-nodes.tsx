import { useMemo, useState, type JSX } from "react";
import type { NodeRun, RunWithNodes } from "../../api/runs.ts";
import { Diff } from "../../parts/diff/diff.tsx";
import { differences } from "../../flow/differences.ts";
import { Icon } from "../../parts/icons.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { Status } from "../../parts/status.tsx";
import { Elapsed } from "../../parts/time.tsx";
import { nameAt, type NodeNames } from "./flow-shape.ts";
import { useNodeNames } from "./node-names.tsx";

/** Nodes listed at one time. */
const ROWS = 100;

type Verdict = "unchanged" | "changed" | "removed" | "added";
interface Pair {
  readonly path: string;
  readonly before: NodeRun | undefined;
  readonly after: NodeRun | undefined;
  readonly verdict: Verdict;
}

/** The compared parts of a node, without times, because these always differ. */
const seen = ({ state, inputs, output, error }: NodeRun): object => ({
  state,
  inputs,
  output,
  error: error?.code ?? null,
});

function pairsOf(one: RunWithNodes, other: RunWithNodes): Pair[] {
  const befores = new Map((one.nodes ?? []).map((node) => [node.path, node]));
  const afters = new Map((other.nodes ?? []).map((node) => [node.path, node]));
  return [...new Set([...befores.keys(), ...afters.keys()])].map((path): Pair => {
    const [before, after] = [befores.get(path), afters.get(path)];
    if (!before) return { path, before, after, verdict: "added" };
    if (!after) return { path, before, after, verdict: "removed" };
    // A reused node has no record of its inputs.
    const [left, right] = before.reused || after.reused ? [before.output, after.output] : [seen(before), seen(after)];
    return { path, before, after, verdict: differences(left, right, 1).length === 0 ? "unchanged" : "changed" };
  });
}

/** The nodes of two runs, the ones that differ first. */
export function ComparedNodes({
  one,
  other,
}: {
  readonly one: RunWithNodes;
  readonly other: RunWithNodes;
}): JSX.Element {
  const [all, setAll] = useState(false);
  const [pages, setPages] = useState(1);
  const pairs = useMemo(() => pairsOf(one, other), [one, other]);
  const names = useNodeNames(other);
  const different = pairs.filter(({ verdict }) => verdict !== "unchanged");
  const listed = all ? pairs : different;
  const shown = listed.slice(0, pages * ROWS);
  return (
    <section className="stack-tight" aria-labelledby="nodes">
      <div className="spread">
        <h2 id="nodes">Nodes</h2>
        <label className="check">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Show unchanged
          nodes
        </label>
      </div>
      <p className="small muted">
        {different.length.toLocaleString()} of {pairs.length.toLocaleString()} nodes differ.
      </p>
      {shown.length > 0 && (
        <ul className="panel panel-flush compare-nodes" aria-label="Nodes of both runs">
          {shown.map((pair) => (
            <li key={pair.path}>
              <Node pair={pair} names={names} />
            </li>
          ))}
        </ul>
      )}
      {shown.length < listed.length && (
        <button type="button" className="button button-quiet" onClick={() => setPages(pages + 1)}>
          Show more ({listed.length.toLocaleString()} nodes in total)
        </button>
      )}
    </section>
  );
}

function Node({
  pair: { path, before, after, verdict },
  names,
}: {
  readonly pair: Pair;
  readonly names: NodeNames;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  const hasFailed = before?.error != null || after?.error != null;
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="compare-row">
        <span className="compare-name">
          <Icon name="chevron" className={open ? "chevron-open" : ""} />
          <NodeName name={nameAt(names, path)} path={path} />
        </span>
        <Side node={before} />
        <Side node={after} />
        <span className="small">{verdict}</span>
      </summary>
      {open && (
        <div className="stack-tight conversation-body">
          <h3>Inputs</h3>
          <Diff before={before?.inputs} after={after?.inputs} label={`Differences in inputs of ${path}`} />
          <h3>Output</h3>
          <Diff before={before?.output} after={after?.output} label={`Differences in output of ${path}`} />
          {hasFailed && (
            <>
              <h3>Error</h3>
              <Diff
                before={before?.error ?? undefined}
                after={after?.error ?? undefined}
                label={`Differences in error of ${path}`}
              />
            </>
          )}
        </div>
      )}
    </details>
  );
}

function Side({ node }: { readonly node: NodeRun | undefined }): JSX.Element {
  if (!node) return <span className="muted">-</span>;
  return (
    <span className="row">
      <Status state={node.state} />
      {node.reused ? (
        <span className="small muted">reused</span>
      ) : (
        <Elapsed from={node.started_at} to={node.finished_at} />
      )}
    </span>
  );
}
