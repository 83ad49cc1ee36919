import { ViewportPortal, getBezierPath, useReactFlow, Position } from "@xyflow/react";
import type { JSX } from "react";
import type { Point } from "../../../flow/document.ts";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { useEditor } from "../editor-context.ts";
import type { ViewEdge, ViewNode } from "./graph-view.ts";

/** Buttons in the middle of the edge that is selected or under the pointer. Only one edge has them, because a button on each would slow large flows down. */
export function EdgeTools({
  edges,
  hovered,
  onLeave,
  onInsert,
  onRemove,
}: {
  readonly edges: readonly ViewEdge[];
  readonly hovered: string | null;
  readonly onLeave: () => void;
  readonly onInsert: (edge: string, at: Point) => void;
  readonly onRemove: (edge: string) => void;
}): JSX.Element | null {
  const flow = useReactFlow<ViewNode, ViewEdge>();
  const { isReadOnly, state } = useEditor();
  const chosen = state.selection.edges.length === 1 ? edges.find(({ selected }) => selected) : undefined;
  const edge = chosen ?? edges.find(({ id }) => id === hovered);
  if (edge === undefined || isReadOnly) return null;
  const middle = middleOf(flow, edge);
  if (middle === null) return null;
  return (
    <ViewportPortal>
      <div
        className="edge-tools nodrag nopan"
        style={{ transform: `translate(${middle.x}px, ${middle.y}px) translate(-50%, -50%)` }}
        onPointerLeave={onLeave}
      >
        <button
          type="button"
          aria-label="Insert a node on this edge"
          title="Insert a node"
          onClick={() => onInsert(edge.id, middle)}
        >
          <Icon name="plus" />
        </button>
        <button
          type="button"
          aria-label="Delete this edge"
          title="Delete the edge"
          onClick={() => {
            onRemove(edge.id);
            onLeave();
          }}
        >
          <FlowIcon name="trash" />
        </button>
      </div>
    </ViewportPortal>
  );
}

function middleOf(flow: ReturnType<typeof useReactFlow<ViewNode, ViewEdge>>, edge: ViewEdge): Point | null {
  const [source, target] = [flow.getInternalNode(edge.source), flow.getInternalNode(edge.target)];
  if (!source || !target) return null;
  const out = source.internals.handleBounds?.source?.find(({ id }) => id === edge.sourceHandle);
  const into = target.internals.handleBounds?.target?.[0];
  if (!out || !into) return null;
  const [from, to] = [source.internals.positionAbsolute, target.internals.positionAbsolute];
  const [, x, y] = getBezierPath({
    sourceX: from.x + out.x + out.width / 2,
    sourceY: from.y + out.y + out.height,
    sourcePosition: Position.Bottom,
    targetX: to.x + into.x + into.width / 2,
    targetY: to.y + into.y,
    targetPosition: Position.Top,
  });
  return { x, y };
}
