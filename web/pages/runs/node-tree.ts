import type { NodeRun } from "../../api/runs.ts";
import { nameAt, pathInFlow, type NodeNames } from "./flow-shape.ts";

/** A node of a run with its children, or an item of a map or loop, which has no record of its own. */
export interface TreeNode {
  readonly path: string;
  /** Display name: the name in the flow, or else the last part of the path. */
  readonly label: string;
  /** The last part of the path if the label is a name; otherwise null. */
  readonly id: string | null;
  /** The record of a node; null for an item. */
  readonly run: NodeRun | null;
  readonly children: TreeNode[];
  /** The number of an item; null for a node. */
  readonly index: number | null;
}

export interface NodeTree {
  readonly roots: readonly TreeNode[];
  readonly byPath: ReadonlyMap<string, TreeNode>;
}

const ITEM = /^(.*)\[(\d+)\]$/s;

/** The parent of a path: `map-0[3]` for `map-0[3]/http-0`, `map-0` for the item `map-0[3]`; null at the top. */
export function around(path: string, isItem: boolean): string | null {
  if (isItem) return ITEM.exec(path)?.[1] ?? null;
  const end = path.lastIndexOf("/");
  return end === -1 ? null : path.slice(0, end);
}

/** The nodes of a run as a tree. Items have no record, so they are derived from the paths of their nodes. */
export function treeOf(nodes: readonly NodeRun[], names: NodeNames, ranks: ReadonlyMap<string, number>): NodeTree {
  const byPath = new Map<string, TreeNode>();
  const roots: TreeNode[] = [];
  for (const run of nodes)
    byPath.set(run.path, { path: run.path, ...called(run.path, names), run, children: [], index: null });
  const attach = (node: TreeNode): void => {
    const place = around(node.path, node.index !== null);
    if (place === null) {
      roots.push(node);
      return;
    }
    let parent = byPath.get(place);
    if (!parent) {
      const item = ITEM.exec(place);
      const index = item ? Number(item[2]) : null;
      parent = {
        path: place,
        ...(index === null ? called(place, names) : { label: `item ${index}`, id: null }),
        run: null,
        children: [],
        index,
      };
      byPath.set(place, parent);
      attach(parent);
    }
    parent.children.push(node);
  };
  for (const run of nodes) {
    const node = byPath.get(run.path);
    if (node) attach(node);
  }
  const rankOf = ({ path }: TreeNode): number => ranks.get(pathInFlow(path)) ?? 0;
  // Many nodes start within the same millisecond; their order then follows the flow.
  const inOrder = (a: TreeNode, b: TreeNode): number =>
    (a.index ?? -1) - (b.index ?? -1) || compared(startOf(a), startOf(b)) || rankOf(a) - rankOf(b);
  for (const { children } of byPath.values()) children.sort(inOrder);
  return { roots: roots.sort(inOrder), byPath };
}

/**
 * When a node started, or was skipped or cancelled without a start; "~" sorts waiting nodes last. All times have the
 * same format, so comparing them as text is correct.
 */
const startOf = ({ run }: TreeNode): string => run?.started_at ?? run?.finished_at ?? "~";

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function called(path: string, names: NodeNames): Pick<TreeNode, "label" | "id"> {
  const name = nameAt(names, path);
  const id = path.slice(path.lastIndexOf("/") + 1);
  return name === null ? { label: id, id: null } : { label: name, id };
}

const ENDED: readonly string[] = ["COMPLETED", "SKIPPED", "FAILED", "CANCELLED"];
/** An item has the first of these states that any of its nodes has. */
const WORST = ["PAUSED", "RETRYING", "RUNNING", "FAILED", "CANCELLED"];

export function stateOf({ run, children }: TreeNode): string {
  if (run) return run.state;
  const states = new Set(children.map(stateOf));
  return WORST.find((state) => states.has(state)) ?? "COMPLETED";
}

/** Start and end; for an item, from its first node to its last. */
export function timesOf({ run, children }: TreeNode): { readonly from: string | null; readonly to: string | null } {
  if (run) return { from: run.started_at, to: run.finished_at };
  const times = children.map(timesOf);
  let [first, last]: [string | null, string | null] = [null, null];
  // All times have the same format, so comparing them as text is correct.
  for (const { from, to } of times) {
    if (from !== null && (first === null || from < first)) first = from;
    if (to !== null && (last === null || to > last)) last = to;
  }
  return { from: first, to: times.some(({ from, to }) => from !== null && to === null) ? null : last };
}

/** Number of items that a map or loop has started, and how many of them have finished. */
export function itemsOf({ children }: TreeNode): { readonly all: number; readonly done: number } | null {
  const items = children.filter(({ index }) => index !== null);
  if (items.length === 0) return null;
  return { all: items.length, done: items.filter((item) => ENDED.includes(stateOf(item))).length };
}

/** All ancestors of a path, outermost first. */
export function placesAround(tree: NodeTree, path: string): string[] {
  const places: string[] = [];
  for (let node = tree.byPath.get(path); node;) {
    const place = around(node.path, node.index !== null);
    if (place === null) break;
    places.unshift(place);
    node = tree.byPath.get(place);
  }
  return places;
}

/** The innermost item that contains, or is, the path; null for the flow itself. */
export function scopeOf(tree: NodeTree, path: string | null): string | null {
  if (path === null) return null;
  const places = [...placesAround(tree, path), path];
  return places.findLast((place) => tree.byPath.get(place)?.index != null) ?? null;
}
