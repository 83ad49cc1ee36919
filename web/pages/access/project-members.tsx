import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import {
  deleteProjectMember,
  projectMembersOptions,
  setProjectMember,
  useMay,
  useMe,
  useMemberChange,
  usersOptions,
} from "../../api/accounts.ts";
import type { ProjectRole } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Email } from "../../parts/email.tsx";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { Submit } from "../../parts/submit.tsx";
import { FindMember } from "./find-member.tsx";
import { RoleField, roleColumn, takeAwayColumn } from "./project-role-parts.tsx";

/** Who was given a role in a project, and which; an admin of the project changes it. */
export function ProjectMembers({ projectId: project_id }: { readonly projectId: string }): JSX.Element {
  const me = useMe();
  const { data, error, isPending, refetch } = useQuery(projectMembersOptions(project_id));
  const set = useMemberChange(setProjectMember);
  const remove = useMemberChange(deleteProjectMember);
  const isAdmin = useMay("admin");
  // Whoever was given a role is not in the form of the next.
  const [added, setAdded] = useState(0);
  const add = (user_id: string, role: ProjectRole): void =>
    set.mutate({ project_id, user_id, role }, { onSuccess: () => setAdded((count) => count + 1) });
  const fault = set.error ?? remove.error;
  if (isPending) return <Loading what="members" />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  return (
    <>
      <p className="muted">
        Users with a role in this project. A higher role in the organisation holds here too, and is not listed.
      </p>
      {fault && <Failure fault={toProblem(fault)} />}
      {data.data.length === 0 ? (
        <Empty title="Nobody has a role in this project yet">Below somebody is given one.</Empty>
      ) : (
        <Table
          caption="Members"
          rows={data.data}
          keyOf={({ user_id }) => user_id}
          columns={[
            {
              id: "email",
              head: "E-mail address",
              cell: ({ user_id, email }) => (
                <Email address={email}>
                  {user_id === me.id && <span className="muted"> (you)</span>}{" "}
                  <CopyButton text={user_id} label={`id of ${email}`} />
                </Email>
              ),
            },
            roleColumn<(typeof data.data)[number]>({
              head: "Role here",
              labelOf: ({ email }) => `Role of ${email}`,
              isPending: set.isPending,
              onApply: ({ user_id }, role) => set.mutate({ project_id, user_id, role }),
            }),
            { id: "since", head: "Since", wideOnly: true, cell: ({ created_at }) => <Time at={created_at} /> },
            takeAwayColumn<(typeof data.data)[number]>({
              of: ({ email }) => `of ${email}`,
              isPending: remove.isPending,
              onTakeAway: ({ user_id }) => remove.mutate({ project_id, user_id }),
            }),
          ]}
        />
      )}
      {isAdmin ? (
        <AddMember key={added} isPending={set.isPending} known={data.data.map(({ user_id }) => user_id)} onAdd={add} />
      ) : (
        <FindMember key={added} projectId={project_id} isPending={set.isPending} onAdd={add} />
      )}
    </>
  );
}

/** Admins of the organisation choose among its users. */
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
      <h2 id="add-member">Give somebody a role</h2>
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
      <Submit isPending={isPending}>Give the role</Submit>
    </form>
  );
}
