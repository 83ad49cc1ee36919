import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { JSX } from "react";
import { flowOptions } from "../../api/runs.ts";
import type { Run } from "../../api/runs.ts";
import { nameAt, namesOf } from "./flow-shape.ts";
import type { NodeNames } from "./flow-shape.ts";

/** The names in a run's version of the flow: a record of a node has its id alone. */
export function useNodeNames({ project_id, flow_version }: Pick<Run, "project_id" | "flow_version">): NodeNames {
  const { data } = useQuery(flowOptions(project_id, flow_version));
  return useMemo(() => namesOf(data?.flow), [data]);
}

/** A node as people call it, and the place that the API calls it by. */
export function NodeName({ names, path }: { readonly names: NodeNames; readonly path: string }): JSX.Element {
  const name = nameAt(names, path);
  if (name === null) return <code className="wrap">{path}</code>;
  return (
    <span className="wrap">
      <strong>{name}</strong> <code className="muted">{path}</code>
    </span>
  );
}
