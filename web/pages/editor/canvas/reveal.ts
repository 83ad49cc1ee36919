import type { Flow } from "./space.ts";

/** Frames to wait for a node that is about to be drawn. */
const FRAMES = 60;
/** Space that the tools take at the top of the canvas, and at its other edges. */
const TOP = 60;
const EDGE = 12;

/** The edges of the panel, if it lies over the canvas, as it does in a narrow window. */
export function panelOver(frame: HTMLElement): DOMRect | null {
  const { right, top } = frame.getBoundingClientRect();
  const panel = document.querySelector(".editor-side")?.getBoundingClientRect();
  return panel !== undefined && panel.left < right - 1 && panel.top > top ? panel : null;
}

/** The part of the canvas that no panel covers, in the window. */
function visiblePart(frame: HTMLElement): { left: number; top: number; right: number; bottom: number } {
  const { left, top, right, bottom } = frame.getBoundingClientRect();
  const lowest = panelOver(frame)?.top ?? bottom;
  return { left: left + EDGE, top: top + TOP, right: right - EDGE, bottom: lowest - EDGE };
}

/** Moves the canvas so that a node is in view; not at all if it is. */
export function bringIntoView(flow: Flow, frame: HTMLElement, path: string): void {
  const node = flow.getInternalNode(path);
  if (!node) return;
  const part = visiblePart(frame);
  const { x, y } = node.internals.positionAbsolute;
  const { zoom } = flow.getViewport();
  const corner = flow.flowToScreenPosition({ x, y });
  const width = (node.width ?? 0) * zoom;
  const height = Math.min((node.height ?? 0) * zoom, part.bottom - part.top);
  const isSeen =
    corner.x >= part.left && corner.y >= part.top && corner.x + width <= part.right && corner.y + height <= part.bottom;
  if (isSeen) return;
  const box = frame.getBoundingClientRect();
  const middle = { x: (part.left + part.right) / 2 - box.left, y: (part.top + part.bottom) / 2 - box.top };
  void flow.setViewport({ x: middle.x - x * zoom - width / 2, y: middle.y - y * zoom - height / 2, zoom });
}

/** Brings a node into view and gives it the focus, as soon as it is drawn. */
export function reveal(flow: Flow, frame: HTMLElement | null, path: string): void {
  let frames = 0;
  const look = (): void => {
    // A node outside the window may not be drawn before the canvas has moved.
    if (frame) bringIntoView(flow, frame, path);
    const element = frame?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(path)}"]`);
    if (element) return element.focus({ preventScroll: true });
    frames += 1;
    if (frames < FRAMES) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
