import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useAccountChange, useMe, type Role, type User } from "../../api/accounts.ts";
import { changeUser, createUser, deleteUser, usersIn } from "../../api/users.ts";
import { isStale, toProblem } from "../../api/problem.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Email } from "../../parts/email.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Icon } from "../../parts/icons.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { ChangedMeanwhile, Failure } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Submit } from "../../parts/submit.tsx";
import { ProjectRoles } from "./project-roles.tsx";
import { RoleChoice } from "./role-choice.tsx";

const ROLES: ReadonlyArray<readonly [Role, string]> = [
  ["member", "Member: only the projects they have a role in"],
  ["viewer", "Viewer: can read"],
  ["editor", "Editor: can read, edit, run and approve"],
  ["admin", "Admin: also manages keys, users and webhooks"],
];

export function Users(): JSX.Element {
  const me = useMe();
  const order = useListOrder("since");
  const list = useQuery(usersIn(order.value));
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<User | null>(null);
  const [placing, setPlacing] = useState<User | null>(null);
  const [locking, setLocking] = useState<User | null>(null);
  const [lowering, setLowering] = useState<{ readonly user: User; readonly role: Role } | null>(null);
  const change = useAccountChange("users", changeUser);
  const remove = useAccountChange("users", deleteUser);
  return (
    <>
      <div className="row">
        <button type="button" className="button button-primary" onClick={() => setAdding(true)}>
          <Icon name="plus" /> Add a user
        </button>
      </div>
      {locking === null &&
        lowering === null &&
        (isStale(change.error) ? <ChangedMeanwhile /> : change.error && <Failure fault={change.error} />)}
      <List
        query={list}
        order={order}
        items="users"
        caption="Users"
        empty={{ title: "No users yet", text: "Users sign in to the console." }}
        keyOf={(user) => user.user_id}
        columns={[
          {
            id: "email",
            head: "Email address",
            cell: (user) => (
              <Email address={user.email}>
                {user.user_id === me.id && <span className="muted"> (you)</span>}{" "}
                <CopyButton text={user.user_id} label={`ID of ${user.email}`} />
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
                onApply={(role) =>
                  user.role === "admin" ? setLowering({ user, role }) : change.mutate({ seen: user, role })
                }
              />
            ),
          },
          {
            id: "state",
            head: "State",
            wideOnly: true,
            cell: (user) => <Status state={user.disabled ? "disabled" : "active"} />,
          },
          { id: "since", head: "Added", wideOnly: true, cell: (user) => <Time at={user.created_at} /> },
          {
            id: "actions",
            head: "Actions",
            cell: (user) => (
              <span className="row">
                {user.role !== "admin" && (
                  <button type="button" className="button button-small" onClick={() => setPlacing(user)}>
                    Project roles…
                  </button>
                )}
                <button
                  type="button"
                  className="button button-small"
                  data-row
                  onClick={() => (user.disabled ? change.mutate({ seen: user, disabled: false }) : setLocking(user))}
                >
                  {user.disabled ? "Enable" : "Disable…"}
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
      {lowering && (
        <Confirm
          title={`Change ${lowering.user.email} from admin to ${lowering.role}`}
          action={`Change to ${lowering.role}`}
          fault={change.error && toProblem(change.error)}
          isPending={change.isPending}
          onClose={() => setLowering(null)}
          onConfirm={() =>
            change.mutate(
              { seen: lowering.user, role: lowering.role },
              {
                onSuccess: () => setLowering(null),
                onError: (error) => isStale(error) && setLowering(null),
              },
            )
          }
        >
          Permanently revokes every API key this user created. Making the user admin again does not restore the keys.
        </Confirm>
      )}
      {locking && (
        <Confirm
          title={`Disable ${locking.email}`}
          action="Disable"
          fault={change.error && toProblem(change.error)}
          isPending={change.isPending}
          onClose={() => setLocking(null)}
          onConfirm={() =>
            change.mutate(
              { seen: locking, disabled: true },
              {
                onSuccess: () => setLocking(null),
                // The list already shows the newer state.
                onError: (error) => isStale(error) && setLocking(null),
              },
            )
          }
        >
          Ends all sessions within five seconds and permanently revokes every API key this user created. You can enable
          the user again later; the keys stay revoked.
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
          Ends all sessions and permanently revokes every API key this user created. Runs that the user started are
          kept.
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
        <Field label="Email address" errors={errorsAt(problem, "email")}>
          {(control) => (
            <input className="input" name="email" type="email" autoComplete="off" data-first {...control} />
          )}
        </Field>
        <Field
          label="Password"
          hint="Share it with the user over a separate channel."
          errors={errorsAt(problem, "password")}
        >
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
