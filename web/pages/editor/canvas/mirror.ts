import { edgesOf, graphAt, handleOf, nodesOf } from "../../../flow/access.ts";
import type { FlowDocument, NodeKind, Point, Scope, Size } from "../../../flow/document.ts";
import { handlesOf, kindOf } from "../../../flow/kinds.ts";
import { sizeOf } from "./geometry.ts";

/**
 * The layout of a flow, or its mirror image if fewer edges cross there: a layout does not know in which order handles
 * are on a node, and often puts what follows the first handle last.
 */
export function mirrored(
  document: FlowDocument,
  scope: Scope,
  kinds: readonly NodeKind[],
  places: ReadonlyMap<string, Point>,
  sizes: ReadonlyMap<string, Size>,
): ReadonlyMap<string, Point> {
  const graph = graphAt(document, scope);
  const handles = new Map(nodesOf(graph).map((node) => [node.id, handlesOf(kindOf(kinds, node.type), node)]));
  const widthOf = (id: string): number => (sizes.get(id) ?? sizeOf(1)).width;
  const bySource = new Map<string, Array<readonly [handle: number, x: number]>>();
  for (const edge of edgesOf(graph)) {
    const at = places.get(edge.target);
    if (at === undefined || !places.has(edge.source)) continue;
    const leaving = bySource.get(edge.source) ?? [];
    leaving.push([(handles.get(edge.source) ?? []).indexOf(handleOf(edge)), at.x + widthOf(edge.target) / 2]);
    bySource.set(edge.source, leaving);
  }
  let crossings = 0;
  for (const leaving of bySource.values())
    for (const [handle, x] of leaving)
      for (const [other, otherX] of leaving) if (handle < other) crossings += Math.sign(x - otherX);
  if (crossings <= 0) return places;
  const left = Math.min(...[...places.values()].map(({ x }) => x));
  const right = Math.max(...[...places].map(([id, { x }]) => x + widthOf(id)));
  return new Map([...places].map(([id, { x, y }]) => [id, { x: left + right - x - widthOf(id), y }]));
}
