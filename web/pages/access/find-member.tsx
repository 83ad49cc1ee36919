import type { JSX } from "react";
import { useCandidateSearch } from "../../api/accounts.ts";
import type { ProjectRole } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { Field } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";
import { RoleField } from "./project-role-parts.tsx";

/** Gives a role to the user of an e-mail address, whom the person sees before. */
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
    ...(isRefused ? ["This is no e-mail address. Give the whole address."] : []),
    ...(found === null ? ["No user of the organisation has this address."] : []),
  ];
  return (
    <section className="panel stack" aria-labelledby="add-member">
      <h2 id="add-member">Give somebody a role</h2>
      <form className="stack" noValidate onSubmit={onTexts((given) => search.mutate(given("email").trim()))}>
        <Field label="E-mail address" hint="The whole address with which the user signs in." errors={errors}>
          {(control) => (
            // What was found is of the address that was there before.
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
          aria-label={`Give ${found.email} a role`}
          onSubmit={onTexts((given) => onAdd(found.user_id, given("role") as ProjectRole))}
        >
          <RoleField />
          <Submit isPending={isPending}>Give the role</Submit>
        </form>
      )}
    </section>
  );
}
