import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay, useMe } from "../../api/accounts.ts";
import { projectsOptions } from "../../api/runs.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { ProjectSelect } from "../../parts/project-select.tsx";
import { Empty } from "../../parts/states.tsx";
import { ProjectMembers } from "./project-members.tsx";

/** The members of one project, for its admins; the URL holds the project. */
export function Members(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const me = useMe();
  const isAdmin = useMay("admin");
  const projects = useQuery(projectsOptions);
  if (projects.data === undefined) return <Fetched query={projects} what="projects" />;
  const own = projects.data.data.filter(
    ({ project_id }) =>
      isAdmin || me.project_roles.some((each) => each.project_id === project_id && each.role === "admin"),
  );
  const chosen = own.find(({ project_id }) => project_id === search.get("project")) ?? own[0];
  if (chosen === undefined) return <Empty title="No projects">There are no projects whose roles you can set.</Empty>;
  return (
    <>
      <div className="row">
        <ProjectSelect
          projects={own}
          value={chosen.project_id}
          onChange={(project) => setSearch({ tab: "members", project })}
        />
      </div>
      <ProjectMembers key={chosen.project_id} projectId={chosen.project_id} />
    </>
  );
}
