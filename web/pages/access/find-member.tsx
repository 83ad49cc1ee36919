import type { JSX } from "react";
import { useCandidateSearch } from "../../api/users.ts";
import type { ProjectRole } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";
import { RoleField } from "./project-role-parts.tsx";

/** Finds a user by e-mail address and shows the user before giving a role. */
export function FindMember({
  projectId,
  isPending,
  onAdd,
}: {
  readonly projectId: string;
  readonly isPending: boolean;
  readonly onAdd: (userId: string, role: ProjectRole) => void;
}): JSX.Element {
  const search = useCandidateSearch(projectId);
  const found = search.data;
  const problem = search.error && toProblem(search.error);
  const isRefused = problem?.status === 422;
  const errors = [
    ...(isRefused ? ["Enter a complete email address."] : []),
    ...(found === null ? ["No user in this organisation has this email address."] : []),
  ];
  return (
    <section className="panel stack" aria-labelledby="add-member">
      <h2 id="add-member">Add member</h2>
      <form className="stack" noValidate onSubmit={onTexts((given) => search.mutate(given("email").trim()))}>
        <Field label="Email address" hint="The complete address the user signs in with." errors={errors}>
          {(control) => (
            // A search result belongs to the address it was found for, so typing clears it.
            <input
              className="input"
              name="email"
              type="email"
              autoComplete="off"
              onChange={search.reset}
              {...control}
            />
          )}
        </Field>
        {problem && !isRefused && <Failure fault={problem} />}
        <Submit isQuiet isPending={search.isPending}>
          Find
        </Submit>
      </form>
      <p role="status" className="wrap" hidden={!found}>
        {found && (
          <>
            <strong>{found.email}</strong>{" "}
            {found.role === null ? "has no role in this project yet." : `has the role ${found.role} in this project.`}
          </>
        )}
      </p>
      {found && (
        <form
          className="stack"
          aria-label={`Add ${found.email}`}
          onSubmit={onTexts((given) => onAdd(found.user_id, given("role") as ProjectRole))}
        >
          <RoleField />
          <Submit isPending={isPending}>Add member</Submit>
        </form>
      )}
    </section>
  );
}
