/** What the pages need of a flow's definition, which is the caller's own JSON. */
export interface FlowShape {
  readonly nodes: ReadonlyArray<{
    readonly id: string;
    readonly type: string;
    readonly name?: string;
    readonly config?: { readonly flow?: unknown };
  }>;
  readonly edges: ReadonlyArray<{ readonly source: string; readonly source_handle?: string; readonly target: string }>;
}

export function flowShape(flow: unknown): FlowShape {
  const { nodes = [], edges = [] } = (flow ?? {}) as Partial<FlowShape>;
  return { nodes, edges };
}

/** The flow inside of an item, such as `map-0[3]/map-1[0]`; of null the flow itself. */
export function flowWithin(flow: FlowShape, scope: string | null): FlowShape {
  if (scope === null) return flow;
  let inner = flow;
  for (const step of scope.split("/")) {
    const id = step.replace(/\[\d+\]$/, "");
    inner = flowShape(inner.nodes.find((node) => node.id === id)?.config?.flow);
  }
  return inner;
}

/** The names that a flow gives to its nodes, by their paths without the numbers of items: `map-0/http-0`. */
export type NodeNames = ReadonlyMap<string, string>;

export function namesOf(flow: unknown): NodeNames {
  const names = new Map<string, string>();
  const add = (inner: unknown, before: string): void => {
    for (const { id, name, config } of flowShape(inner).nodes) {
      if (name !== undefined && name !== "" && name !== id) names.set(before + id, name);
      if (config?.flow !== undefined) add(config.flow, `${before}${id}/`);
    }
  };
  add(flow, "");
  return names;
}

/** Numbers for the nodes, by their paths as above: each has a higher one than all it waits for. */
export function ranksOf(flow: unknown): ReadonlyMap<string, number> {
  const ranks = new Map<string, number>();
  const add = (inner: unknown, before: string): void => {
    const { nodes, edges } = flowShape(inner);
    const missing = new Map(nodes.map(({ id }) => [id, 0]));
    for (const { target } of edges) missing.set(target, (missing.get(target) ?? 0) + 1);
    const targets = new Map<string, string[]>();
    for (const { source, target } of edges) {
      const all = targets.get(source);
      if (all) all.push(target);
      else targets.set(source, [target]);
    }
    const ready = nodes.map(({ id }) => id).filter((id) => missing.get(id) === 0);
    for (const [at, id] of ready.entries()) {
      ranks.set(before + id, at);
      for (const target of targets.get(id) ?? []) {
        const left = (missing.get(target) ?? 0) - 1;
        missing.set(target, left);
        if (left === 0) ready.push(target);
      }
    }
    for (const { id, config } of nodes) if (config?.flow !== undefined) add(config.flow, `${before}${id}/`);
  };
  add(flow, "");
  return ranks;
}

/** The path in the flow of what has this path in a run: without the numbers of items. */
export const pathInFlow = (path: string): string => path.replaceAll(/\[\d+\]/g, "");

/** The name of the node at a place; null where the flow gives it none, and of an item. */
export function nameAt(names: NodeNames, path: string): string | null {
  return path.endsWith("]") ? null : (names.get(pathInFlow(path)) ?? null);
}
