import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { flowOptions, type Run } from "../../api/runs.ts";
import { namesOf, type NodeNames } from "./flow-shape.ts";

/** Node names from the run's flow version; the record of a node holds only its ID. */
export function useNodeNames({ project_id, flow_version }: Pick<Run, "project_id" | "flow_version">): NodeNames {
  const { data } = useQuery(flowOptions(project_id, flow_version));
  return useMemo(() => namesOf(data?.flow), [data]);
}
