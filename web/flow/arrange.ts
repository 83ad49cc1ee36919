import type { Point, Size } from "./document.ts";

/** A node or sticky note on the canvas. */
export type Box = Point & Size;
export type Side = "left" | "center" | "right" | "top" | "middle" | "bottom";

/** New places so that all boxes have the same side, or the same middle. */
export function align(boxes: ReadonlyMap<string, Box>, side: Side): Readonly<Record<string, Point>> {
  if (boxes.size < 2) return {};
  const { x, y, width, height } = boundsOf([...boxes.values()]);
  return mapPlaces(boxes, (box) => {
    switch (side) {
      case "left":
        return { x, y: box.y };
      case "center":
        return { x: x + (width - box.width) / 2, y: box.y };
      case "right":
        return { x: x + width - box.width, y: box.y };
      case "top":
        return { x: box.x, y };
      case "middle":
        return { x: box.x, y: y + (height - box.height) / 2 };
      case "bottom":
        return { x: box.x, y: y + height - box.height };
      default:
        return side satisfies never;
    }
  });
}

/** New places so that the gaps between the boxes are equal; the outermost boxes stay. */
export function distribute(boxes: ReadonlyMap<string, Box>, along: "x" | "y"): Readonly<Record<string, Point>> {
  if (boxes.size < 3) return {};
  const lengthOf = (box: Box): number => (along === "x" ? box.width : box.height);
  const sorted = [...boxes].toSorted(([, one], [, other]) => one[along] - other[along]);
  const [first, last] = [sorted[0]?.[1], sorted.at(-1)?.[1]];
  if (first === undefined || last === undefined) return {};
  const filled = sorted.reduce((sum, [, box]) => sum + lengthOf(box), 0);
  const gap = (last[along] + lengthOf(last) - first[along] - filled) / (sorted.length - 1);
  let at = first[along];
  return Object.fromEntries(
    sorted.map(([id, box]) => {
      const place = along === "x" ? { x: at, y: box.y } : { x: box.x, y: at };
      at += lengthOf(box) + gap;
      return [id, place];
    }),
  );
}

/** The smallest box around all of them. */
export function boundsOf(boxes: readonly Box[]): Box {
  if (boxes.length === 0) return { x: 0, y: 0, width: 0, height: 0 };
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { x, y, width, height } of boxes) {
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function mapPlaces(boxes: ReadonlyMap<string, Box>, place: (box: Box) => Point): Readonly<Record<string, Point>> {
  return Object.fromEntries([...boxes].map(([id, box]) => [id, place(box)]));
}
