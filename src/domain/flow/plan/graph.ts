/** Everything that `next` leads to from these, including them. */
export function reachable<Item>(from: Iterable<Item>, next: (item: Item) => Iterable<Item>): Set<Item> {
  const found = new Set(from);
  // Iterating a set also visits items added during the iteration.
  for (const item of found) for (const each of next(item)) found.add(each);
  return found;
}

/** An edge between positions in a list of nodes. */
export interface Link {
  readonly source: number;
  readonly target: number;
}

/** The nodes in an order in which every edge leads forward, as far as cycles allow; deterministic. */
export interface Ordering {
  readonly order: readonly number[];
  /** Nodes on a cycle or after one, which have no such order. */
  readonly rest: readonly number[];
}

/** Orders `count` nodes by their links in linear time. Nodes without a constraint keep their relative order. */
export function orderNodes(count: number, links: readonly Link[]): Ordering {
  const waiting = new Int32Array(count);
  const outgoing = targetsOf(count, links);
  for (const { target } of links) waiting[target] = (waiting[target] ?? 0) + 1;
  const nodesWith = (holds: (open: number) => boolean): number[] =>
    [...waiting.keys()].filter((node) => holds(waiting[node] ?? 0));
  const order = nodesWith((open) => open === 0);
  for (let next = 0; next < order.length; next += 1) {
    for (const target of outgoing[order[next] ?? 0] ?? []) {
      waiting[target] = (waiting[target] ?? 0) - 1;
      if (waiting[target] === 0) order.push(target);
    }
  }
  return { order, rest: nodesWith((open) => open > 0) };
}

/**
 * Finds cycles among the nodes of `rest`, each in the direction of its edges. Every node of `rest` has a source in `rest`, so following one
 * source from each node leads into a cycle; cycles found in this way are distinct.
 */
export function findCycles(rest: readonly number[], links: readonly Link[]): number[][] {
  const members = new Set(rest);
  const source = new Map<number, number>();
  for (const link of links) {
    if (members.has(link.source) && members.has(link.target) && !source.has(link.target))
      source.set(link.target, link.source);
  }
  const visitedBy = new Map<number, number>();
  const cycles: number[][] = [];
  for (const start of rest) {
    let node: number | undefined = start;
    while (node !== undefined && !visitedBy.has(node)) {
      visitedBy.set(node, start);
      node = source.get(node);
    }
    if (node === undefined || visitedBy.get(node) !== start) continue;
    const cycle = [node];
    for (let at = source.get(node); at !== undefined && at !== node; at = source.get(at)) cycle.push(at);
    cycles.push(cycle.toReversed());
  }
  return cycles;
}

/**
 * The ancestor relation: `(node, earlier)` returns whether a path leads from `earlier` to `node`. Takes one bit per pair, which is 12 MB
 * for 10,000 nodes.
 */
export function upstreamOf(
  count: number,
  ordering: Ordering,
  links: readonly Link[],
): (node: number, earlier: number) => boolean {
  const words = Math.ceil(count / 32);
  const bits = new Uint32Array(words * count);
  const outgoing = targetsOf(count, links);
  for (const node of ordering.order) {
    for (const target of outgoing[node] ?? []) {
      const to = target * words;
      const from = node * words;
      for (let word = 0; word < words; word += 1) bits[to + word] = (bits[to + word] ?? 0) | (bits[from + word] ?? 0);
      const own = to + (node >>> 5);
      bits[own] = (bits[own] ?? 0) | (1 << (node & 31));
    }
  }
  return (node, earlier) => ((bits[node * words + (earlier >>> 5)] ?? 0) & (1 << (earlier & 31))) !== 0;
}

/** The nodes from which a path leads to one of `goals`, including the goals. */
export function leadingTo(count: number, goals: Iterable<number>, links: readonly Link[]): ReadonlySet<number> {
  const reversed = links.map(({ source, target }) => ({ source: target, target: source }));
  const incoming = targetsOf(count, reversed);
  return reachable(goals, (node) => incoming[node] ?? []);
}

function targetsOf(count: number, links: readonly Link[]): number[][] {
  const targets: number[][] = Array.from({ length: count }, () => []);
  for (const { source, target } of links) targets[source]?.push(target);
  return targets;
}
