import { Graph, layout as placeNodes } from "@dagrejs/dagre";
import type { Size } from "../document.ts";
import { layerNodes, type Place } from "./layered.ts";

/** From this number of nodes on, the thorough layout would block the page, because its time grows faster than the flow. */
export const MANY_NODES = 150;
/** Smallest gap between nodes beside each other, and between layers. */
export const GAP = 32;
const RANK_GAP = 48;
/** Nodes without edges in a row, if the rest is narrower. */
const FEWEST_IN_ROW = 4;

type Pairs = ReadonlyArray<readonly [source: string, target: string]>;
type SizeOf = (id: string) => Size;

/** Positions of all nodes, from the top down; nodes without edges are in rows below the others. No two nodes overlap. */
export function layOutGraph(ids: readonly string[], pairs: Pairs, sizeOf: SizeOf): ReadonlyMap<string, Place> {
  const known = new Set(ids);
  const joined = new Set(
    pairs.flatMap(([source, target]) =>
      source !== target && known.has(source) && known.has(target) ? [source, target] : [],
    ),
  );
  const chained = ids.filter((id) => joined.has(id));
  const places = new Map(
    chained.length > MANY_NODES ? layered(chained, pairs, sizeOf) : thorough(chained, pairs, sizeOf),
  );
  let [left, right, bottom] = [0, 0, -RANK_GAP];
  for (const [id, { x, y }] of places) {
    const { width, height } = sizeOf(id);
    [left, right, bottom] = [Math.min(left, x), Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  placeInRows(
    ids.filter((id) => !joined.has(id)),
    { left, right, top: bottom + RANK_GAP },
    sizeOf,
    places,
  );
  return places;
}

function thorough(ids: readonly string[], pairs: Pairs, sizeOf: SizeOf): ReadonlyMap<string, Place> {
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: GAP, ranksep: RANK_GAP });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { ...sizeOf(id) });
  for (const [source, target] of pairs)
    if (source !== target && graph.hasNode(source) && graph.hasNode(target)) graph.setEdge(source, target);
  placeNodes(graph);
  return new Map(
    ids.map((id) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      const { width, height } = sizeOf(id);
      return [id, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
}

/** All nodes get the room of the widest, and each layer that of its highest node. */
function layered(ids: readonly string[], pairs: Pairs, sizeOf: SizeOf): ReadonlyMap<string, Place> {
  const width = ids.reduce((most, id) => Math.max(most, sizeOf(id).width), 0);
  const places = layerNodes(ids, pairs, { width: width + GAP, height: 1 });
  const heights = new Map<number, number>();
  for (const [id, { y }] of places) heights.set(y, Math.max(heights.get(y) ?? 0, sizeOf(id).height));
  const tops = new Map<number, number>();
  let top = 0;
  for (const [rank, height] of [...heights].toSorted(([one], [other]) => one - other)) {
    tops.set(rank, top);
    top += height + RANK_GAP;
  }
  return new Map(
    [...places].map(([id, { x, y }]) => [id, { x: x + (width - sizeOf(id).width) / 2, y: tops.get(y) ?? 0 }]),
  );
}

function placeInRows(
  ids: readonly string[],
  { left, right, top }: { readonly left: number; readonly right: number; readonly top: number },
  sizeOf: SizeOf,
  places: Map<string, Place>,
): void {
  const widest = ids.reduce((most, id) => Math.max(most, sizeOf(id).width), 0);
  // Many nodes make a block that is about as high as it is wide.
  const inRow = Math.max(FEWEST_IN_ROW, Math.ceil(Math.sqrt(ids.length)));
  const end = Math.max(right, left + inRow * (widest + GAP));
  let [x, y, height] = [left, top, 0];
  for (const id of ids) {
    const size = sizeOf(id);
    if (x > left && x + size.width > end) [x, y, height] = [left, y + height + RANK_GAP, 0];
    places.set(id, { x, y });
    [x, height] = [x + size.width + GAP, Math.max(height, size.height)];
  }
}
