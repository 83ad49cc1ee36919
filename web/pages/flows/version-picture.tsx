import type { JSX } from "react";
import { FlowPicture } from "../../parts/graph/flow-picture.tsx";
import { shapeOf } from "./flow-shape.ts";
import { useKindGroups } from "./kind-groups.ts";

/** The picture of a version beside its name. */
export function VersionPicture({ flow, label }: { readonly flow: unknown; readonly label: string }): JSX.Element {
  const groups = useKindGroups();
  const shape = shapeOf(flow);
  return (
    <>
      <div className="version-picture">
        <FlowPicture {...shape} groups={groups} label={label} />
      </div>
      <p className="small muted">
        {shape.nodes.length} {shape.nodes.length === 1 ? "node" : "nodes"}, {shape.edges.length}{" "}
        {shape.edges.length === 1 ? "edge" : "edges"}
      </p>
    </>
  );
}
