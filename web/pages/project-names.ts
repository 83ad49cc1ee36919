import { useQuery } from "@tanstack/react-query";
import { projectsOptions } from "../api/runs.ts";
import { shortId } from "../parts/copy.tsx";

/** The name of a project by its id; the short id of one whose name is not known. */
export function useProjectName(): (projectId: string) => string {
  const { data } = useQuery(projectsOptions);
  const names = new Map(data?.data.map(({ project_id, name }) => [project_id, name]));
  return (projectId) => names.get(projectId) ?? shortId(projectId);
}
