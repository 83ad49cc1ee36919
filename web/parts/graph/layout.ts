import { layOutGraph } from "../../flow/layout/lay-out.ts";
import type { Place } from "../../flow/layout/layered.ts";

export interface GraphNode {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  /** State of the node in the run; null if it has not started. */
  readonly state: string | null;
  /** Shown beside the state: number of attempts, or of finished items. */
  readonly note: string | null;
  /** Whether the node has content that can be opened. */
  readonly opens: boolean;
}
export interface GraphEdge {
  readonly source: string;
  readonly target: string;
  readonly label: string | null;
  /** Whether the run followed this edge. */
  readonly taken: boolean;
  /** How it differs in a comparison of two flows. */
  readonly change?: "added" | "removed";
}

export const NODE_WIDTH = 208;
export const NODE_HEIGHT = 64;

/** Positions of all nodes, from the top down. */
export function layOut(
  ids: readonly string[],
  pairs: ReadonlyArray<readonly [source: string, target: string]>,
): ReadonlyMap<string, Place> {
  return layOutGraph(ids, pairs, () => ({ width: NODE_WIDTH, height: NODE_HEIGHT }));
}
