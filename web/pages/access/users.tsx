import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { changeUser, createUser, deleteUser, useAccountChange, useMe, usersOptions } from "../../api/accounts.ts";
import type { Role, User } from "../../api/accounts.ts";
import { isStale, toProblem } from "../../api/problem.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Email } from "../../parts/email.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { ChangedMeanwhile, Failure, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";
import { ProjectRoles } from "./project-roles.tsx";
import { RoleChoice } from "./role-choice.tsx";

const ROLES: ReadonlyArray<readonly [Role, string]> = [
  ["member", "Member: what roles in single projects allow"],
  ["viewer", "Viewer: reads"],
  ["editor", "Editor: reads, writes, runs, decides"],
  ["admin", "Admin: keys, users and webhooks too"],
];

export function Users(): JSX.Element {
  const me = useMe();
  const { data, error, isPending, refetch } = useQuery(usersOptions);
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<User | null>(null);
  const [placing, setPlacing] = useState<User | null>(null);
  const [locking, setLocking] = useState<User | null>(null);
  const change = useAccountChange("users", changeUser);
  const remove = useAccountChange("users", deleteUser);
  if (isPending) return <Loading what="users" />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  return (
    <>
      <div className="row">
        <button type="button" className="button button-primary" onClick={() => setAdding(true)}>
          <Icon name="plus" /> Add a user
        </button>
      </div>
      {locking === null &&
        (isStale(change.error) ? <ChangedMeanwhile /> : change.error && <Failure fault={toProblem(change.error)} />)}
      <Table
        caption="Users"
        rows={data.data}
        keyOf={(user) => user.user_id}
        columns={[
          {
            id: "email",
            head: "E-mail address",
            cell: (user) => (
              <Email address={user.email}>
                {user.user_id === me.id && <span className="muted"> (you)</span>}{" "}
                <CopyButton text={user.user_id} label={`id of ${user.email}`} />
              </Email>
            ),
          },
          {
            id: "role",
            head: "Role",
            cell: (user) => (
              <RoleChoice
                key={user.role}
                label={`Role of ${user.email}`}
                role={user.role}
                roles={ROLES.map(([role]) => role)}
                isPending={change.isPending}
                onApply={(role) => change.mutate({ seen: user, role })}
              />
            ),
          },
          {
            id: "state",
            head: "State",
            wideOnly: true,
            cell: (user) => <Status state={user.disabled ? "disabled" : "active"} />,
          },
          { id: "since", head: "Since", wideOnly: true, cell: (user) => <Time at={user.created_at} /> },
          {
            id: "actions",
            head: "Actions",
            cell: (user) => (
              <span className="row">
                {user.role !== "admin" && (
                  <button type="button" className="button button-small" onClick={() => setPlacing(user)}>
                    Projects…
                  </button>
                )}
                <button
                  type="button"
                  className="button button-small"
                  data-row
                  onClick={() => (user.disabled ? change.mutate({ seen: user, disabled: false }) : setLocking(user))}
                >
                  {user.disabled ? "Let in" : "Lock out…"}
                </button>
                <button type="button" className="button button-small button-danger" onClick={() => setLeaving(user)}>
                  Delete…
                </button>
              </span>
            ),
          },
        ]}
      />
      {placing && <ProjectRoles user={placing} onClose={() => setPlacing(null)} />}
      {isAdding && <AddUser onClose={() => setAdding(false)} />}
      {locking && (
        <Confirm
          title={`Lock out ${locking.email}`}
          action="Lock out"
          fault={change.error && toProblem(change.error)}
          isPending={change.isPending}
          onClose={() => setLocking(null)}
          onConfirm={() =>
            change.mutate(
              { seen: locking, disabled: true },
              {
                onSuccess: () => setLocking(null),
                // The list shows by then what it is about.
                onError: (error) => isStale(error) && setLocking(null),
              },
            )
          }
        >
          Within five seconds every session and token of the user is refused, until an admin lets the user in again.
        </Confirm>
      )}
      {leaving && (
        <Confirm
          title={`Delete ${leaving.email}`}
          action="Delete"
          fault={remove.error && toProblem(remove.error)}
          isPending={remove.isPending}
          onClose={() => setLeaving(null)}
          onConfirm={() => remove.mutate(leaving.user_id, { onSuccess: () => setLeaving(null) })}
        >
          All sessions of the user end. Runs that the user started stay.
        </Confirm>
      )}
    </>
  );
}

function AddUser({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const create = useAccountChange("users", createUser);
  const problem = create.error && toProblem(create.error);
  return (
    <Dialog title="Add a user" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={onTexts((given) => {
          create.mutate(
            {
              email: given("email"),
              password: given("password"),
              role: given("role") as Role,
            },
            { onSuccess: onClose },
          );
        })}
      >
        <Field label="E-mail address" errors={errorsAt(problem, "email")}>
          {(control) => (
            <input className="input" name="email" type="email" autoComplete="off" data-first {...control} />
          )}
        </Field>
        <Field label="Password" hint="Tell it to the user by another way." errors={errorsAt(problem, "password")}>
          {(control) => (
            <input className="input" name="password" type="password" autoComplete="new-password" {...control} />
          )}
        </Field>
        <Field label="Role">
          {(control) => (
            <select className="input" name="role" defaultValue="viewer" {...control}>
              {ROLES.map(([role, words]) => (
                <option key={role} value={role}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Add</Submit>
      </form>
    </Dialog>
  );
}
