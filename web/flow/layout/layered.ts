export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Passes that improve the order within layers; more passes change little. */
const SWEEPS = 4;

/**
 * Places nodes in layers from the top down, each below all its predecessors. It takes milliseconds for thousands of
 * nodes, where a thorough layout takes seconds; edges may pass behind nodes.
 */
export function layerNodes(
  ids: readonly string[],
  pairs: ReadonlyArray<readonly [source: string, target: string]>,
  cell: { readonly width: number; readonly height: number },
): ReadonlyMap<string, Place> {
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const before: number[][] = ids.map(() => []);
  const after: number[][] = ids.map(() => []);
  for (const [source, target] of pairs) {
    const [from, to] = [indexOf.get(source), indexOf.get(target)];
    if (from === undefined || to === undefined) continue;
    before[to]?.push(from);
    after[from]?.push(to);
  }
  const layers = layersOf(before, after);
  const order = new Float64Array(ids.length);
  const number = (layer: number[]): void => layer.forEach((node, at) => (order[node] = at));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const wanted = new Map(layer.map((node) => [node, mean((isDown ? before : after)[node], order)]));
      layer.sort((a, b) => (wanted.get(a) ?? order[a] ?? 0) - (wanted.get(b) ?? order[b] ?? 0));
      number(layer);
    }
  }
  const x = new Float64Array(ids.length);
  const places = new Map<string, Place>();
  layers.forEach((layer, rank) => {
    spread(layer, before, x, cell.width);
    for (const node of layer) places.set(ids[node] ?? "", { x: x[node] ?? 0, y: rank * cell.height });
  });
  return places;
}

/** Layer of a node: the length of the longest path to it. Nodes in a cycle, which no valid flow has, stay near the top. */
function layersOf(before: readonly number[][], after: readonly number[][]): number[][] {
  const open = before.map((each) => each.length);
  const rank = before.map(() => 0);
  const ready = open.flatMap((count, node) => (count === 0 ? [node] : []));
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    for (const next of after[node] ?? []) {
      rank[next] = Math.max(rank[next] ?? 0, (rank[node] ?? 0) + 1);
      open[next] = (open[next] ?? 0) - 1;
      if (open[next] === 0) ready.push(next);
    }
  }
  const layers: number[][] = [];
  rank.forEach((at, node) => (layers[at] ??= []).push(node));
  return Array.from(layers, (layer) => layer ?? []);
}

/** Places each node as near as possible to the mean of its predecessors, in order and without overlap, and then centres the layer. */
function spread(layer: readonly number[], before: readonly number[][], x: Float64Array, width: number): void {
  let last = Number.NEGATIVE_INFINITY;
  let off = 0;
  for (const [at, node] of layer.entries()) {
    const wanted = mean(before[node], x) ?? (at - (layer.length - 1) / 2) * width;
    const given = Math.max(wanted, last + width);
    x[node] = given;
    last = given;
    off += given - wanted;
  }
  for (const node of layer) x[node] = (x[node] ?? 0) - off / layer.length;
}

function mean(nodes: readonly number[] | undefined, values: Float64Array): number | undefined {
  if (nodes === undefined || nodes.length === 0) return undefined;
  return nodes.reduce((sum, node) => sum + (values[node] ?? 0), 0) / nodes.length;
}
