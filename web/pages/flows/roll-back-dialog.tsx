import { useState, type JSX } from "react";
import { rollBack, useEnvironmentAction, type Promotion } from "../../api/environments.ts";
import { toProblem } from "../../api/problem.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";

/** Gives an environment again what it had before: the promotion `to`, or the one before the current one. */
export function RollBackDialog({
  project_id,
  environment,
  to,
  onClose,
}: {
  readonly project_id: string;
  readonly environment: string;
  readonly to: Promotion | null;
  readonly onClose: () => void;
}): JSX.Element {
  const act = useEnvironmentAction(rollBack);
  const [notes, setNotes] = useState("");
  return (
    <Dialog title={`Roll ${environment} back`} onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const repeated = to && { promotion_id: to.promotion_id };
          act.mutate({ project_id, environment, notes, ...repeated }, { onSuccess: onClose });
        }}
      >
        <p>
          New calls of {environment} use {to === null ? "the version" : `version ${to.version}`} and the connections
          that it had {to === null ? "before" : "then"}, within a second. Runs in progress keep theirs.
        </p>
        <Field label="Notes (optional)" hint="Why; shown in the history.">
          {(control) => (
            <textarea
              className="input"
              rows={2}
              data-first
              value={notes}
              onChange={(event) => setNotes(event.target.value)}
              {...control}
            />
          )}
        </Field>
        {act.error && <Failure fault={toProblem(act.error)} />}
        <Submit isPending={act.isPending}>Roll back</Submit>
      </form>
    </Dialog>
  );
}
