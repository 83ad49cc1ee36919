import { edgesOf, graphAt, lockedIn, nodesOf, notesIn, positionsIn } from "../access.ts";
import { boundsOf, type Box } from "../arrange.ts";
import type { Command, FlowDocument, Point, Scope, Size } from "../document.ts";
import { GAP, layOutGraph } from "./lay-out.ts";

export type Sizes = ReadonlyMap<string, Size>;

/** Size of a node that has not been drawn yet. */
export const NODE_SIZE: Size = { width: 208, height: 64 };
/** Room of a group around the nodes inside it; its title is above them. */
const GROUP = { side: 24, title: 48 };

const sizeIn =
  (sizes: Sizes) =>
  (id: string): Size =>
    sizes.get(id) ?? NODE_SIZE;

/** The size of a map or loop that is shown with the flow inside it. */
export function groupSize(boxes: readonly Box[]): Size {
  const { width, height } = boundsOf(boxes);
  return {
    width: Math.max(NODE_SIZE.width, width + 2 * GROUP.side),
    height: Math.max(NODE_SIZE.height, height + GROUP.side + GROUP.title),
  };
}

/**
 * Arranges all nodes of a flow, or only `ids`. Then everything else stays where it is, and the arranged nodes stay together near
 * their old place. Sticky notes go with the nearest node if all nodes are arranged. Locked nodes stay.
 */
export function tidy(
  document: FlowDocument,
  scope: Scope,
  sizes: Sizes = new Map(),
  ids?: readonly string[],
): Extract<Command, { readonly type: "moveNodes" }> {
  const sizeOf = sizeIn(sizes);
  const graph = graphAt(document, scope);
  const stored = positionsIn(document, scope);
  const locked = lockedIn(document, scope);
  const all = nodesOf(graph).map(({ id }) => id);
  const wanted = new Set(ids ?? all);
  const moved = all.filter((id) => wanted.has(id) && !(locked.has(id) && stored.has(id)));
  const movedIds = new Set(moved);
  const still = all.filter((id) => stored.has(id) && !movedIds.has(id));
  const notes = notesIn(document, scope);
  const fixed: Box[] = still.flatMap((id) => boxOf(stored.get(id), sizeOf(id)));
  if (ids !== undefined) fixed.push(...notes);

  const places = layOutGraph(
    moved,
    edgesOf(graph).map(({ source, target }) => [source, target] as const),
    sizeOf,
  );
  const boxes = moved.flatMap((id) => boxOf(places.get(id), sizeOf(id)));
  const old = boundsOf(moved.flatMap((id) => boxOf(stored.get(id), sizeOf(id))));
  const now = boundsOf(boxes);
  const at = { x: Math.round(old.x - now.x), y: Math.round(old.y - now.y) };
  const shift = freeShift(
    boxes.map((box) => ({ ...box, x: box.x + at.x, y: box.y + at.y })),
    fixed,
  );
  const positions = new Map(
    moved.map((id) => {
      const { x, y } = places.get(id) ?? { x: 0, y: 0 };
      return [id, { x: Math.round(x + at.x + shift.x), y: Math.round(y + at.y + shift.y) }];
    }),
  );
  const moves = { type: "moveNodes", scope, positions: Object.fromEntries(positions) } as const;
  if (ids !== undefined || notes.length === 0) return moves;

  const taken = [...fixed, ...moved.flatMap((id) => boxOf(positions.get(id), sizeOf(id)))];
  const placed = notes.map((note) => {
    const nearest = nearestTo(note, stored, sizeOf);
    const [from, to] = [stored.get(nearest ?? ""), positions.get(nearest ?? "")];
    const wanted = from && to ? { x: note.x + to.x - from.x, y: note.y + to.y - from.y } : { x: note.x, y: note.y };
    const box = { width: note.width, height: note.height, ...wanted };
    const off = freeShift([box], taken);
    const place = { x: box.x + off.x, y: box.y + off.y };
    taken.push({ ...box, ...place });
    return [note.id, place] as const;
  });
  return { ...moves, notes: Object.fromEntries(placed) };
}

/** The places of all nodes of a flow: the ones that the document gives, and free ones for the others. */
export function placesIn(document: FlowDocument, scope: Scope, sizes: Sizes = new Map()): ReadonlyMap<string, Point> {
  const sizeOf = sizeIn(sizes);
  const graph = graphAt(document, scope);
  const nodes = nodesOf(graph);
  const stored = positionsIn(document, scope);
  if (stored.size === nodes.length) return stored;
  if (stored.size === 0) return new Map(Object.entries(tidy(document, scope, sizes).positions));
  const places = new Map(stored);
  const taken: Box[] = [...notesIn(document, scope), ...[...stored].flatMap(([id, point]) => boxOf(point, sizeOf(id)))];
  const sources = new Map(edgesOf(graph).map(({ source, target }) => [target, source]));
  for (const { id } of nodes) {
    if (places.has(id)) continue;
    const around = places.get(sources.get(id) ?? "");
    const { x, y, height } = around ? { ...sizeOf(id), ...around } : boundsOf(taken);
    const place = freePlace({ ...sizeOf(id), x, y: y + height + GAP }, taken);
    places.set(id, place);
    taken.push({ ...sizeOf(id), ...place });
  }
  return places;
}

/** The free place nearest to the wanted one, for a new node or sticky note. */
export function freePlace(box: Box, taken: readonly Box[]): Point {
  const { x, y } = freeShift([box], taken);
  return { x: box.x + x, y: box.y + y };
}

/** The shortest way to the right, left, bottom or top that brings the boxes, as one block, away from all others. */
function freeShift(boxes: readonly Box[], others: readonly Box[]): Point {
  let best: Point = { x: 0, y: 0 };
  let shortest = Infinity;
  for (const direction of ["right", "down", "left", "up"] as const) {
    const length = clearance(boxes, others, direction, shortest);
    if (length >= shortest) continue;
    shortest = length;
    const sign = direction === "left" || direction === "up" ? -1 : 1;
    best = direction === "right" || direction === "left" ? { x: sign * length, y: 0 } : { x: 0, y: sign * length };
  }
  return best;
}

/** How far the boxes must go in a direction; more than `most` is not looked for. */
function clearance(
  boxes: readonly Box[],
  others: readonly Box[],
  direction: "right" | "down" | "left" | "up",
  most: number,
): number {
  const isAcross = direction === "right" || direction === "left";
  const sign = direction === "left" || direction === "up" ? -1 : 1;
  let length = 0;
  for (let needed = 1; needed > 0 && length < most;) {
    needed = 0;
    for (const box of boxes) {
      const moved = isAcross ? { ...box, x: box.x + sign * length } : { ...box, y: box.y + sign * length };
      for (const other of others) {
        if (!overlaps(moved, other)) continue;
        const way = isAcross
          ? sign > 0
            ? other.x + other.width - moved.x
            : moved.x + moved.width - other.x
          : sign > 0
            ? other.y + other.height - moved.y
            : moved.y + moved.height - other.y;
        needed = Math.max(needed, Math.ceil(way) + GAP);
      }
    }
    length += needed;
  }
  return length;
}

export const overlaps = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

const boxOf = (place: { readonly x: number; readonly y: number } | undefined, { width, height }: Size): Box[] =>
  place === undefined ? [] : [{ x: place.x, y: place.y, width, height }];

function nearestTo(note: Box, places: ReadonlyMap<string, Point>, sizeOf: (id: string) => Size): string | null {
  let [nearest, least]: [string | null, number] = [null, Infinity];
  for (const [id, { x, y }] of places) {
    const { width, height } = sizeOf(id);
    const distance = Math.hypot(x + width / 2 - note.x - note.width / 2, y + height / 2 - note.y - note.height / 2);
    if (distance < least) [nearest, least] = [id, distance];
  }
  return nearest;
}
