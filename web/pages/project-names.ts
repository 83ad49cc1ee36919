import { useQuery } from "@tanstack/react-query";
import { projectsOptions } from "../api/runs.ts";
import { shortId } from "../parts/copy.tsx";

/** Returns the name of a project by ID; a short ID if the name is unknown. */
export function useProjectName(): (projectId: string) => string {
  const { data } = useQuery(projectsOptions);
  const names = new Map(data?.data.map(({ project_id, name }) => [project_id, name]));
  return (projectId) => names.get(projectId) ?? shortId(projectId);
}
