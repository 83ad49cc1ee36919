import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useAccountChange, type ProjectRole, type User } from "../../api/accounts.ts";
import { deleteProjectMember, setProjectMember, userProjectsOptions } from "../../api/users.ts";
import { projectsOptions } from "../../api/runs.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { List } from "../../parts/list/list.tsx";
import { Failure } from "../../parts/states.tsx";
import { RoleField, roleColumn, takeAwayColumn } from "./project-role-parts.tsx";

/** The roles of a user in projects, which exist beside the role in the organisation. */
export function ProjectRoles({ user, onClose }: { readonly user: User; readonly onClose: () => void }): JSX.Element {
  const { user_id } = user;
  const list = useQuery(userProjectsOptions(user_id));
  const { data: projects } = useQuery(projectsOptions);
  const [form, setForm] = useState(0);
  const set = useAccountChange("user-projects", setProjectMember);
  const remove = useAccountChange("user-projects", deleteProjectMember);
  const fault = set.error ?? remove.error;
  const given = list.data?.data ?? [];
  const others = (projects?.data ?? []).filter(
    (each) => !given.some(({ project_id }) => project_id === each.project_id),
  );
  return (
    <Dialog title={`Project roles of ${user.email}`} onClose={onClose} wide>
      <p className="muted">
        {user.role === "member"
          ? "This user sees only these projects."
          : `In all other projects: ${user.role}. The higher of the two roles applies.`}
      </p>
      <List
        isBare
        query={list}
        items="project roles"
        caption="Project roles"
        placeholder={2}
        empty={{ title: "No project roles yet", text: "Add one below." }}
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
      {fault && <Failure fault={fault} />}
    </Dialog>
  );
}
