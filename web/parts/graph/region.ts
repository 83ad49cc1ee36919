import { NODE_HEIGHT, NODE_WIDTH, type GraphEdge, type GraphNode } from "./layout.ts";
import type { Place } from "../../flow/layout/layered.ts";

/** The part of a large graph that is rendered: the visible area and half of its size on each side. */
export interface Region {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}
interface Viewport extends Place {
  readonly zoom: number;
}

/** Size assumed before the window is measured (pixels). */
const FIRST = 900;

export const regionAround = ({ x, y }: Place): Region => ({
  left: x - FIRST,
  top: y - FIRST,
  right: x + FIRST,
  bottom: y + FIRST,
});

/** Returns the same region while it contains the visible area, so that most moves render nothing new. */
export function regionFor(known: Region, { x, y, zoom }: Viewport, frame: HTMLElement | null): Region {
  const [width, height] = [(frame?.clientWidth ?? 0) / zoom, (frame?.clientHeight ?? 0) / zoom];
  const [left, top] = [-x / zoom, -y / zoom];
  const isCovered =
    left >= known.left && top >= known.top && left + width <= known.right && top + height <= known.bottom;
  if (isCovered) return known;
  return { left: left - width / 2, top: top - height / 2, right: left + 1.5 * width, bottom: top + 1.5 * height };
}

/** The nodes in a region, the edges that start or end in it, and the nodes at their other ends. */
export function within(
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
  places: ReadonlyMap<string, Place>,
  { left, top, right, bottom }: Region,
): { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] } {
  const inside = new Set<string>();
  for (const { id } of nodes) {
    const { x, y } = places.get(id) ?? { x: 0, y: 0 };
    if (x + NODE_WIDTH >= left && x <= right && y + NODE_HEIGHT >= top && y <= bottom) inside.add(id);
  }
  const near = edges.filter(({ source, target }) => inside.has(source) || inside.has(target));
  const wanted = new Set(inside);
  for (const { source, target } of near) wanted.add(source).add(target);
  return { nodes: nodes.filter(({ id }) => wanted.has(id)), edges: near };
}

/** Whether a node is fully visible; then selecting it does not move the graph. */
export function isSeen({ x, y }: Place, { x: left, y: top, zoom }: Viewport, frame: HTMLElement | null): boolean {
  const [fromLeft, fromTop] = [x * zoom + left, y * zoom + top];
  const { clientWidth = 0, clientHeight = 0 } = frame ?? {};
  const isAcross = fromLeft >= 0 && fromLeft + NODE_WIDTH * zoom <= clientWidth;
  return isAcross && fromTop >= 0 && fromTop + NODE_HEIGHT * zoom <= clientHeight;
}
