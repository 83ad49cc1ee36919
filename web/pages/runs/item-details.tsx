import { useState, type JSX } from "react";
import { Status } from "../../parts/status.tsx";
import { Elapsed } from "../../parts/time.tsx";
import { around, stateOf, timesOf, type NodeTree, type TreeNode } from "./node-tree.ts";

/** Nodes or items listed at one time. */
const ITEMS = 50;

/** One item of a map or loop, with its nodes. */
export function ItemDetails({
  item,
  tree,
  onSelect,
}: {
  readonly item: TreeNode;
  readonly tree: NodeTree;
  readonly onSelect: (path: string | null) => void;
}): JSX.Element {
  const place = around(item.path, item.index !== null);
  return (
    <div className="stack">
      <div className="spread">
        <h2 className="wrap">{item.label}</h2>
        <button type="button" className="button button-quiet button-small" onClick={() => onSelect(place)}>
          Back to {tree.byPath.get(place ?? "")?.label}
        </button>
      </div>
      <Status state={stateOf(item)} />
      <h3>Nodes</h3>
      <Inside nodes={item.children} onSelect={onSelect} />
    </div>
  );
}

/** Lists the content of a node or an item page by page. */
export function Inside({
  nodes,
  onSelect,
}: {
  readonly nodes: readonly TreeNode[];
  readonly onSelect: (path: string) => void;
}): JSX.Element {
  const [pages, setPages] = useState(1);
  const shown = nodes.slice(0, pages * ITEMS);
  return (
    <ul className="inside">
      {shown.map((node) => {
        const { from, to } = timesOf(node);
        return (
          <li key={node.path}>
            <button type="button" className="inside-row" onClick={() => onSelect(node.path)}>
              <span className="inside-name">
                {node.label}
                {node.id !== null && <code className="small muted"> {node.id}</code>}
              </span>
              <Status state={stateOf(node)} />
              <Elapsed from={from} to={to} />
            </button>
          </li>
        );
      })}
      {shown.length < nodes.length && (
        <li>
          <button type="button" className="button button-quiet" onClick={() => setPages(pages + 1)}>
            Show more ({nodes.length.toLocaleString()} in total)
          </button>
        </li>
      )}
    </ul>
  );
}
