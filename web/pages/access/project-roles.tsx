import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { deleteProjectMember, setProjectMember, useAccountChange, userProjectsOptions } from "../../api/accounts.ts";
import type { ProjectRole, User } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { projectsOptions } from "../../api/runs.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { RoleField, roleColumn, takeAwayColumn } from "./project-role-parts.tsx";

/** What a user may do in single projects, beside the role in the organisation. */
export function ProjectRoles({ user, onClose }: { readonly user: User; readonly onClose: () => void }): JSX.Element {
  const { user_id } = user;
  const { data, error, isPending, refetch } = useQuery(userProjectsOptions(user_id));
  const { data: projects } = useQuery(projectsOptions);
  const [form, setForm] = useState(0);
  const set = useAccountChange("user-projects", setProjectMember);
  const remove = useAccountChange("user-projects", deleteProjectMember);
  const fault = set.error ?? remove.error;
  const given = data?.data ?? [];
  const others = (projects?.data ?? []).filter(
    (each) => !given.some(({ project_id }) => project_id === each.project_id),
  );
  return (
    <Dialog title={`Projects of ${user.email}`} onClose={onClose} wide>
      <p className="muted">
        {user.role === "member"
          ? "A member sees only these projects."
          : `In every other project: ${user.role}. A role here counts where it is the higher one.`}
      </p>
      {isPending && <Loading what="roles" rows={2} />}
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {data && given.length === 0 && <Empty title="No role in a project">Below one is given.</Empty>}
      {given.length > 0 && (
        <Table
          isBare
          caption="Roles in projects"
          rows={given}
          keyOf={({ project_id }) => project_id}
          columns={[
            { id: "project", head: "Project", cell: (row) => <span className="wrap">{row.project_name}</span> },
            roleColumn<(typeof given)[number]>({
              head: "Role",
              labelOf: ({ project_name }) => `Role in ${project_name}`,
              isPending: set.isPending,
              onApply: ({ project_id }, role) => set.mutate({ project_id, user_id, role }),
            }),
            takeAwayColumn<(typeof given)[number]>({
              of: ({ project_name }) => `in ${project_name}`,
              isPending: remove.isPending,
              onTakeAway: ({ project_id }) => remove.mutate({ project_id, user_id }),
            }),
          ]}
        />
      )}
      {others.length > 0 && (
        <form
          key={form}
          className="row"
          onSubmit={onTexts((chosen) => {
            const role = chosen("role") as ProjectRole;
            set.mutate(
              { project_id: chosen("project"), user_id, role },
              { onSuccess: () => setForm((count) => count + 1) },
            );
          })}
        >
          <Field label="Project">
            {(control) => (
              <select className="input" name="project" {...control}>
                {others.map(({ project_id, name }) => (
                  <option key={project_id} value={project_id}>
                    {name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <RoleField />
          <button type="submit" className="button" disabled={set.isPending}>
            Add
          </button>
        </form>
      )}
      {fault && <Failure fault={toProblem(fault)} />}
    </Dialog>
  );
}
