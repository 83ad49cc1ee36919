import type { Point, Size } from "../../../flow/document.ts";

/** A node that is larger than usual, because it shows its flow in place. */
interface Grown {
  readonly at: Point;
  readonly own: Size;
  readonly shown: Size;
}
type SizesOf = (id: string) => { readonly own: Size; readonly shown: Size };

/** Places of all nodes while some are grown: what is below or beside a grown node moves away, and back when it is collapsed. */
export function makeRoom(places: ReadonlyMap<string, Point>, sizesOf: SizesOf): ReadonlyMap<string, Point> {
  const grown = grownIn(places, sizesOf);
  if (grown.length === 0) return places;
  return new Map([...places].map(([id, at]) => [id, shifted(at, grown)]));
}

/** The place in the document of a node that is shown at a place. */
export function withoutRoom(shown: Point, places: ReadonlyMap<string, Point>, sizesOf: SizesOf): Point {
  const grown = grownIn(places, sizesOf);
  let at = shown;
  // Each round comes nearer to the place that is moved to the one that is shown.
  for (let round = 0; grown.length > 0 && round <= grown.length; round += 1) {
    const moved = shifted(at, grown);
    at = { x: at.x + shown.x - moved.x, y: at.y + shown.y - moved.y };
  }
  return at;
}

function grownIn(places: ReadonlyMap<string, Point>, sizesOf: SizesOf): Grown[] {
  return [...places].flatMap(([id, at]) => {
    const { own, shown } = sizesOf(id);
    return shown.width > own.width || shown.height > own.height ? [{ at, own, shown }] : [];
  });
}

function shifted({ x, y }: Point, grown: readonly Grown[]): Point {
  let [right, down] = [0, 0];
  for (const { at, own, shown } of grown) {
    if (y >= at.y + own.height) down += shown.height - own.height;
    else if (x >= at.x + own.width && y > at.y - own.height) right += shown.width - own.width;
  }
  return { x: x + right, y: y + down };
}
