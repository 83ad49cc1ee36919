import { isObject } from "../../flow/access.ts";
import type { ExampleFlow } from "./examples.ts";

/** The parts of a flow that the pages read; a draft or a pasted flow may be any JSON. */
export interface ShownNode {
  readonly id: string;
  readonly type: string;
  readonly name?: string;
}
export interface ShownEdge {
  readonly source: string;
  readonly source_handle?: string;
  readonly target: string;
}
export interface Shape {
  readonly nodes: readonly ShownNode[];
  readonly edges: readonly ShownEdge[];
}

type Fields = Readonly<Record<string, unknown>>;
const listIn = (flow: unknown, name: string): unknown[] => {
  const list = isObject(flow) ? flow[name] : undefined;
  return Array.isArray(list) ? (list as unknown[]) : [];
};

/** Nodes and edges of a flow; everything that is not one is left aside. */
export function shapeOf(flow: unknown): Shape {
  const nodes = listIn(flow, "nodes").flatMap((node): ShownNode[] => {
    if (!isObject(node) || typeof node["id"] !== "string") return [];
    const { id, type, name } = node;
    return [{ id, type: typeof type === "string" ? type : "?", ...(typeof name === "string" && { name }) }];
  });
  const edges = listIn(flow, "edges").flatMap((edge): ShownEdge[] => {
    if (!isObject(edge) || typeof edge["source"] !== "string" || typeof edge["target"] !== "string") return [];
    const { source, target, source_handle: handle } = edge;
    return [{ source, target, ...(typeof handle === "string" && handle !== "out" && { source_handle: handle }) }];
  });
  return { nodes, edges };
}

/** A flow that a person has given as text. */
export type GivenFlow = { readonly text: string; readonly flow: Fields } | { readonly fault: string };

/** Reads a flow, or an object whose field `flow` is one, as the API returns drafts and versions. */
export function flowIn(text: string): GivenFlow {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (isObject(value) && Array.isArray(value["nodes"])) return { text, flow: value };
  const inner = isObject(value) ? value["flow"] : undefined;
  if (isObject(inner) && Array.isArray(inner["nodes"])) return { text: JSON.stringify(inner), flow: inner };
  return { fault: "This JSON is not a flow: it has no list `nodes`." };
}

/** The name that a flow gives itself, for the field that asks for one. */
export const nameIn = (flow: Fields | ExampleFlow): string => {
  const { name } = flow as Fields;
  return typeof name === "string" ? name.slice(0, 200) : "";
};
