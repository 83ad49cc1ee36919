import type { FlowDefinition, FlowGraph } from "./definition/definition.ts";
import { NODE_SPECS } from "./nodes/index.ts";
import type { NodeReference } from "./nodes/spec.ts";
import { nodePath, type Path } from "./validate/problems.ts";

/** A reference of a flow's node, and where it stands. */
export interface FlowReference extends NodeReference {
  readonly node_id: string;
  /** Behind the ids of the maps and loops around it: "map-0/kb-0". */
  readonly node_path: string | null;
  /** Members and positions that lead to the id in the flow. */
  readonly path: Path;
}

/** What the nodes of a flow that `validateFlow` found valid refer to, those of nested flows included, in the order of the flow. */
export function flowReferences(definition: FlowDefinition): FlowReference[] {
  return referencesOf(definition, []).map((each) => ({ ...each, node_path: nodePath(definition, each.path) }));
}

function referencesOf(graph: FlowGraph, path: Path): Array<Omit<FlowReference, "node_path">> {
  return graph.nodes.flatMap(({ id: node_id, type, config }, index) => {
    const spec = NODE_SPECS[type];
    const place = [...path, "nodes", index, "config"];
    const { flow, ...own } = config ?? {};
    const references = spec.references?.(spec.config.parse(own)) ?? [];
    return [
      ...references.map((each) => ({ ...each, node_id, path: [...place, ...each.path] })),
      ...(spec.nested ? referencesOf(flow as FlowGraph, [...place, "flow"]) : []),
    ];
  });
}
