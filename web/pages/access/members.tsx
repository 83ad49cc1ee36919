import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { useSearchParams } from "react-router";
import { useMay, useMe } from "../../api/accounts.ts";
import { projectsOptions } from "../../api/runs.ts";
import { ProjectSelect } from "../../parts/project-select.tsx";
import { Empty, Loading } from "../../parts/states.tsx";
import { ProjectMembers } from "./project-members.tsx";

/** The roles in one project: of the projects that the person is an admin of. Which one is in the address. */
export function Members(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const me = useMe();
  const isAdmin = useMay("admin");
  const { data } = useQuery(projectsOptions);
  if (data === undefined) return <Loading what="projects" />;
  const own = data.data.filter(
    ({ project_id }) =>
      isAdmin || me.project_roles.some((each) => each.project_id === project_id && each.role === "admin"),
  );
  const chosen = own.find(({ project_id }) => project_id === search.get("project")) ?? own[0];
  if (chosen === undefined) return <Empty title="No project">There is no project whose roles you may set.</Empty>;
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
