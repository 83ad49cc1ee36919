import { BaseEdge, getBezierPath, type EdgeProps } from "@xyflow/react";
import { memo, type JSX } from "react";
import type { ViewEdge } from "./graph-view.ts";

/** An edge. Neither dashed nor animated, which slows large flows down. */
export const Line = memo(function Line(props: EdgeProps<ViewEdge>): JSX.Element {
  const { id, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition, data, sourceHandleId } = props;
  const [path] = getBezierPath({ sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition });
  const look = data?.fits === false ? "line-misfit" : sourceHandleId === "error" ? "line-error" : "";
  return <BaseEdge id={id} path={path} className={look} interactionWidth={18} />;
});
