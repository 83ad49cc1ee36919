import type { Size } from "../../../flow/document.ts";

export const NODE_WIDTH = 232;
export const HEAD_HEIGHT = 58;
/** Height of the row with the names of handles, which only a node with several has. */
const ROW_HEIGHT = 28;
/** A handle's share of the width of its node. */
const HANDLE_WIDTH = 76;
/** Space inside a group around its nodes. */
export const GROUP_PADDING = 28;
/** Distance that positions snap to. */
export const GRID = 8;

/** Size of a node with so many handles. */
export function sizeOf(handles: number): Size {
  if (handles < 2) return { width: NODE_WIDTH, height: HEAD_HEIGHT };
  return { width: Math.max(NODE_WIDTH, handles * HANDLE_WIDTH), height: HEAD_HEIGHT + ROW_HEIGHT };
}

/** Where a handle is on the lower edge of its node, as a share of its width. */
export const handleShare = (index: number, handles: number): number => (index + 0.5) / handles;

/** Farthest place from the origin: beyond it a browser cannot draw, and a document may name any number. */
const FARTHEST = 1_000_000;
export const near = (value: number): number => Math.max(-FARTHEST, Math.min(FARTHEST, value));

export const snap = (value: number): number => Math.round(value / GRID) * GRID;
