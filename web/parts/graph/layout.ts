import { Graph, layout as placeNodes } from "@dagrejs/dagre";
import { layerNodes } from "./layered-layout.ts";
import type { Place } from "./layered-layout.ts";

export interface GraphNode {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  /** The run's state; null where it has not started. */
  readonly state: string | null;
  /** Beside the state: how often it was tried, how many items are done. */
  readonly note: string | null;
  /** Whether something is inside that can be looked at. */
  readonly opens: boolean;
}
export interface GraphEdge {
  readonly source: string;
  readonly target: string;
  readonly label: string | null;
  /** Whether the run followed this edge. */
  readonly taken: boolean;
}

export const NODE_WIDTH = 208;
export const NODE_HEIGHT = 64;

/** From so many nodes on, the page would stand still for the thorough layout: its time grows faster than the flow. */
export const MANY_NODES = 150;
const GAP = 32;
const RANK_GAP = 48;

/** Where each node is drawn: from the top down. */
export function layOut(
  ids: readonly string[],
  pairs: ReadonlyArray<readonly [source: string, target: string]>,
): ReadonlyMap<string, Place> {
  if (ids.length > MANY_NODES)
    return layerNodes(ids, pairs, { width: NODE_WIDTH + GAP, height: NODE_HEIGHT + RANK_GAP });
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: GAP, ranksep: RANK_GAP });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const [source, target] of pairs)
    if (graph.hasNode(source) && graph.hasNode(target)) graph.setEdge(source, target);
  placeNodes(graph);
  return new Map(
    ids.map((id) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 }];
    }),
  );
}
