/** The parts of a flow definition that the pages use; the definition is JSON from the caller. */
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

/** The inner flow of an item such as `map-0[3]/map-1[0]`; the flow itself for null. */
export function flowWithin(flow: FlowShape, scope: string | null): FlowShape {
  if (scope === null) return flow;
  let inner = flow;
  for (const step of scope.split("/")) {
    const id = step.replace(/\[\d+\]$/, "");
    inner = flowShape(inner.nodes.find((node) => node.id === id)?.config?.flow);
  }
  return inner;
}

/** Names of the nodes in a flow, by path without item numbers: `map-0/http-0`. */
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

/** Topological order of the nodes, by the same paths: each node has a higher number than all nodes it waits for. */
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

/** The path in the flow definition for a path in a run: without item numbers. */
export const pathInFlow = (path: string): string => path.replaceAll(/\[\d+\]/g, "");

/** The name of the node at a path; null for an item, or if the flow gives no name. */
export function nameAt(names: NodeNames, path: string): string | null {
  return path.endsWith("]") ? null : (names.get(pathInFlow(path)) ?? null);
}
