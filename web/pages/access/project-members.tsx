import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useMay, useMe, type ProjectMember, type ProjectRole } from "../../api/accounts.ts";
import {
  deleteProjectMember,
  projectMembersOptions,
  setProjectMember,
  useMemberChange,
  usersOptions,
} from "../../api/users.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Email } from "../../parts/email.tsx";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { Failure } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { Submit } from "../../parts/submit.tsx";
import { FindMember } from "./find-member.tsx";
import { RoleField, roleColumn, takeAwayColumn } from "./project-role-parts.tsx";

/** The members of a project and their roles, which an admin of the project can change. */
export function ProjectMembers({ projectId: project_id }: { readonly projectId: string }): JSX.Element {
  const me = useMe();
  const order = useListOrder("since");
  const list = useQuery(projectMembersOptions(project_id, order.value));
  const set = useMemberChange(setProjectMember);
  const remove = useMemberChange(deleteProjectMember);
  const isAdmin = useMay("admin");
  // A new key resets the form, so that it does not still offer the user who was just added.
  const [added, setAdded] = useState(0);
  const add = (user_id: string, role: ProjectRole): void =>
    set.mutate({ project_id, user_id, role }, { onSuccess: () => setAdded((count) => count + 1) });
  const fault = set.error ?? remove.error;
  return (
    <>
      <p className="muted">
        Users with a role in this project. Users with a higher organisation role also have access and are not listed.
      </p>
      {fault && <Failure fault={fault} />}
      <List
        query={list}
        order={order}
        items="members"
        caption="Members"
        empty={{ title: "No members yet", text: "Add a member below." }}
        keyOf={({ user_id }) => user_id}
        columns={[
          {
            id: "email",
            head: "Email address",
            cell: ({ user_id, email }) => (
              <Email address={email}>
                {user_id === me.id && <span className="muted"> (you)</span>}{" "}
                <CopyButton text={user_id} label={`ID of ${email}`} />
              </Email>
            ),
          },
          roleColumn<ProjectMember>({
            head: "Project role",
            labelOf: ({ email }) => `Role of ${email}`,
            isPending: set.isPending,
            onApply: ({ user_id }, role) => set.mutate({ project_id, user_id, role }),
          }),
          { id: "since", head: "Added", wideOnly: true, cell: ({ created_at }) => <Time at={created_at} /> },
          takeAwayColumn<ProjectMember>({
            of: ({ email }) => `of ${email}`,
            isPending: remove.isPending,
            onTakeAway: ({ user_id }) => remove.mutate({ project_id, user_id }),
          }),
        ]}
      />
      {list.data &&
        (isAdmin ? (
          <AddMember
            key={added}
            isPending={set.isPending}
            known={list.data.data.map(({ user_id }) => user_id)}
            onAdd={add}
          />
        ) : (
          <FindMember key={added} projectId={project_id} isPending={set.isPending} onAdd={add} />
        ))}
    </>
  );
}

/** Adds a member; admins of the organisation choose from a list of its users. */
function AddMember({
  known,
  isPending,
  onAdd,
}: {
  readonly known: readonly string[];
  readonly isPending: boolean;
  readonly onAdd: (userId: string, role: ProjectRole) => void;
}): JSX.Element {
  const { data: users } = useQuery(usersOptions);
  return (
    <form
      className="panel stack"
      aria-labelledby="add-member"
      onSubmit={onTexts((given) => {
        onAdd(given("user"), given("role") as ProjectRole);
      })}
    >
      <h2 id="add-member">Add member</h2>
      <div className="members-add">
        <Field label="User">
          {(control) => (
            <select className="input" name="user" required {...control}>
              {(users?.data ?? [])
                .filter(({ user_id }) => !known.includes(user_id))
                .map(({ user_id, email }) => (
                  <option key={user_id} value={user_id}>
                    {email}
                  </option>
                ))}
            </select>
          )}
        </Field>
        <RoleField />
      </div>
      <Submit isPending={isPending}>Add member</Submit>
    </form>
  );
}
