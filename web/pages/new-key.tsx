import type { JSX, ReactNode } from "react";
import { createKey, useAccountChange } from "../api/accounts.ts";
import { toProblem, type ApiProblem } from "../api/problem.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field, errorsAt } from "../parts/field.tsx";
import { onTexts, type FormTexts } from "../parts/form-texts.ts";
import { ShownOnce } from "../parts/shown-once.tsx";
import { Failure } from "../parts/states.tsx";
import { Submit } from "../parts/submit.tsx";

type Body = Parameters<typeof createKey>[0];

/** Creates an API key, then shows it once. */
export function NewKey({
  limits,
  secret,
  hint,
  note = "",
  onKey,
  onClose,
  children,
}: {
  /** What restricts the key, from the texts of the form. */
  readonly limits: (given: FormTexts) => Omit<Body, "name" | "kind">;
  /** What a secret key may do. */
  readonly secret: string;
  /** What both types have in common. */
  readonly hint?: string;
  /** What happens with the key besides being shown. */
  readonly note?: string;
  readonly onKey?: (key: string) => void;
  readonly onClose: () => void;
  /** The fields after the type. */
  readonly children?: (problem: ApiProblem | null) => ReactNode;
}): JSX.Element {
  const create = useAccountChange("api-keys", createKey);
  const problem = create.error && toProblem(create.error);
  if (create.data)
    return (
      <ShownOnce
        title="New API key"
        what="key"
        secret={create.data.key}
        note={`Copy it now. You cannot see it again. ${note}`.trim()}
        onClose={onClose}
      />
    );
  return (
    <Dialog title="Create API key" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={onTexts((given) => {
          const kind = given("kind") === "secret" ? "secret" : "public";
          create.mutate({ name: given("name"), kind, ...limits(given) }, { onSuccess: ({ key }) => onKey?.(key) });
        })}
      >
        <Field
          label="Name"
          hint="What the key is for, e.g. the name of the program."
          errors={errorsAt(problem, "name")}
        >
          {(control) => <input className="input" name="name" data-first {...control} />}
        </Field>
        <Field label="Type" {...(hint !== undefined && { hint })}>
          {(control) => (
            <select className="input" name="kind" {...control}>
              <option value="public">Public: runs flows and uploads documents; safe in a web page</option>
              <option value="secret">Secret: {secret}; keep it on servers</option>
            </select>
          )}
        </Field>
        {children?.(problem)}
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Create key</Submit>
      </form>
    </Dialog>
  );
}
