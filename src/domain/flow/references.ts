import type { ModelsAsked } from "../models/choose.ts";
import type { FlowDefinition, FlowGraph } from "./definition/definition.ts";
import { NODE_SPECS } from "./nodes/index.ts";
import type { Asked } from "./nodes/assignees.ts";
import type { NodeReference, NodeSpec } from "./nodes/spec.ts";
import { nodePath, type Path } from "./validate/problems.ts";

interface FlowPlace {
  readonly node_id: string;
  /** The node's ID after the IDs of the maps and loops around it: "map-0/kb-0". */
  readonly node_path: string | null;
  /** Keys and indexes that lead to the location in the flow. */
  readonly path: Path;
}

export interface FlowReference extends NodeReference, FlowPlace {}

export interface FlowModel extends ModelsAsked, FlowPlace {}

export interface FlowAsked extends Asked, FlowPlace {}

/** References of all nodes of a valid flow, including nested flows, in the flow's order. */
export function flowReferences(definition: FlowDefinition): FlowReference[] {
  return placed(definition, (spec, config) => spec.references?.(config) ?? []);
}

/** The models that all nodes of a valid flow name, in the same way. */
export function flowModels(definition: FlowDefinition): FlowModel[] {
  return placed(definition, (spec, config) => {
    const choice = spec.model?.(config) ?? null;
    return choice === null ? [] : [{ ...choice, path: [] }];
  });
}

/** The people that all nodes of a valid flow ask, in the same way. */
export function flowAsks(definition: FlowDefinition): FlowAsked[] {
  return placed(definition, (spec, config) => spec.asks?.(config) ?? []);
}

type Find<Found> = (spec: NodeSpec<unknown>, config: unknown) => readonly Found[];

function placed<Found extends { readonly path: Path }>(
  definition: FlowDefinition,
  find: Find<Found>,
): Array<Found & FlowPlace> {
  return within(definition, [], find).map((each) => ({ ...each, node_path: nodePath(definition, each.path) }));
}

function within<Found extends { readonly path: Path }>(
  graph: FlowGraph,
  path: Path,
  find: Find<Found>,
): Array<Found & Omit<FlowPlace, "node_path">> {
  return graph.nodes.flatMap(({ id: node_id, type, config }, index) => {
    const spec = NODE_SPECS[type] as NodeSpec<unknown>;
    const place = [...path, "nodes", index, "config"];
    const { flow, ...own } = config ?? {};
    return [
      ...find(spec, spec.config.parse(own)).map((each) => ({ ...each, node_id, path: [...place, ...each.path] })),
      ...(spec.nested ? within(flow as FlowGraph, [...place, "flow"], find) : []),
    ];
  });
}
