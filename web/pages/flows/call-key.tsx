import { useState } from "react";
import type { JSX } from "react";
import { createKey, useAccountChange, useMay } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { onTexts } from "../../parts/form-texts.ts";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";

/** The key to send a call with; it stays in the memory of this page. Admins can create one. */
export function KeyField({
  projectId,
  value,
  onChange,
}: {
  readonly projectId: string;
  readonly value: string;
  readonly onChange: (key: string) => void;
}): JSX.Element {
  const isAdmin = useMay("admin");
  const [isAdding, setAdding] = useState(false);
  return (
    <div className="key-field">
      <Field label="API key (optional)" hint="Stays in this page's memory only.">
        {(control) => (
          <input
            className="input mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.target.value)}
            {...control}
          />
        )}
      </Field>
      {isAdmin && (
        <button type="button" className="button" onClick={() => setAdding(true)}>
          Create key…
        </button>
      )}
      {isAdding && <NewKey projectId={projectId} onKey={onChange} onClose={() => setAdding(false)} />}
    </div>
  );
}

function NewKey({
  projectId,
  onKey,
  onClose,
}: {
  readonly projectId: string;
  readonly onKey: (key: string) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const create = useAccountChange("api-keys", createKey);
  const problem = create.error && toProblem(create.error);
  if (create.data)
    return (
      <ShownOnce
        title="New API key"
        what="key"
        secret={create.data.key}
        note="Copy it now. You cannot see it again. This page uses it until you leave it."
        onClose={onClose}
      />
    );
  return (
    <Dialog title="Create API key" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={onTexts((given) => {
          const kind = given("kind") === "secret" ? ("secret" as const) : ("public" as const);
          create.mutate({ name: given("name"), kind, projects: [projectId] }, { onSuccess: ({ key }) => onKey(key) });
        })}
      >
        <Field
          label="Name"
          hint="What the key is for, e.g. the name of the program."
          errors={errorsAt(problem, "name")}
        >
          {(control) => <input className="input" name="name" data-first {...control} />}
        </Field>
        <Field label="Type" hint="The key works only for this flow.">
          {(control) => (
            <select className="input" name="kind" {...control}>
              <option value="public">Public: runs flows and uploads documents; safe in a web page</option>
              <option value="secret">Secret: full API access to this flow; keep it on servers</option>
            </select>
          )}
        </Field>
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Create key</Submit>
      </form>
    </Dialog>
  );
}
