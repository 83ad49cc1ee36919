import { useEffect, useRef, type JSX } from "react";
import type { Comparison, NodeChange } from "../../flow/compare.ts";
import { Diff } from "../../parts/diff/diff.tsx";
import { Status } from "../../parts/status.tsx";
import { pathOf } from "./change-graph.ts";

/** The changed nodes and edges; a chosen node shows its settings line by line. */
export function ChangeList({
  changes,
  selected,
  scope,
  scopes,
  onSelect,
  onScope,
}: {
  readonly changes: Comparison;
  /** Path of the chosen node. */
  readonly selected: string | null;
  readonly scope: string;
  /** Maps and loops with changes inside. */
  readonly scopes: readonly string[];
  readonly onSelect: (path: string | null) => void;
  readonly onScope: (scope: string) => void;
}): JSX.Element {
  const { edges } = changes;
  // Only editors keep positions, so a node that has moved does the same as before.
  const nodes = changes.nodes.filter(({ mark }) => mark !== "moved");
  const isOtherChanged = changes.fields.length > 0;
  const count = (mark: NodeChange["mark"]): number => nodes.filter((node) => node.mark === mark).length;
  const isSame = nodes.length + edges.length === 0;
  return (
    <section className="stack" aria-label="Changes">
      <p className="row" role="status">
        {isSame && !isOtherChanged && "No differences. Only the layout may differ."}
        {isSame && isOtherChanged && "Nodes and edges are the same."}
        {!isSame &&
          (["added", "changed", "renamed", "removed"] as const).map(
            (kind) =>
              count(kind) > 0 && (
                <span key={kind} className="row">
                  <strong>{count(kind)}</strong> <Status state={kind} />
                </span>
              ),
          )}
        {edges.length > 0 && (
          <span className="muted">
            {edges.length} {edges.length === 1 ? "edge" : "edges"}
          </span>
        )}
      </p>
      {(scopes.length > 0 || scope !== "") && (
        <label className="row">
          <span className="muted">Canvas shows</span>
          <select className="input input-short" value={scope} onChange={(event) => onScope(event.target.value)}>
            <option value="">the whole flow</option>
            {[...new Set([...scopes, ...(scope === "" ? [] : [scope])])].map((each) => (
              <option key={each} value={each}>
                inside {each}
              </option>
            ))}
          </select>
        </label>
      )}
      <ul className="stack-tight">
        {nodes.map((node) => (
          <Changed key={pathOf(node)} node={node} isOpen={pathOf(node) === selected} onSelect={onSelect} />
        ))}
      </ul>
      {edges.length > 0 && (
        <ul className="stack-tight small">
          {edges.map(({ mark, scope: around, edge }) => (
            <li key={JSON.stringify([mark, around, edge])} className="row">
              <Status state={mark} />
              <span className="wrap">
                {[...around, edge.source].join("/")}
                {edge.source_handle !== undefined && <span className="muted"> ({edge.source_handle})</span>}
                {" → "}
                {edge.target}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Changed({
  node,
  isOpen,
  onSelect,
}: {
  readonly node: NodeChange;
  readonly isOpen: boolean;
  readonly onSelect: (path: string | null) => void;
}): JSX.Element {
  const { mark, before, after, was } = node;
  const path = pathOf(node);
  const name = (after ?? before)?.name ?? path;
  const row = useRef<HTMLLIElement>(null);
  // A node chosen on the canvas may be far down in the list.
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  return (
    <li ref={row} className="stack-tight">
      <button
        type="button"
        className="change"
        aria-expanded={isOpen}
        data-row
        onClick={() => onSelect(isOpen ? null : path)}
      >
        <Status state={mark} />
        <span className="wrap">{name}</span>
        {name !== path && <code className="muted wrap">{path}</code>}
        {was !== undefined && (
          <span className="muted wrap">
            was <code>{was}</code>
          </span>
        )}
      </button>
      {isOpen && mark === "renamed" && <p className="small muted">Only the ID and references to it changed.</p>}
      {isOpen && mark !== "renamed" && <Diff before={before} after={after} label={`Changes of ${name}`} />}
    </li>
  );
}
