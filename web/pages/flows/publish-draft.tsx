import { useState } from "react";
import type { JSX } from "react";
import { toProblem } from "../../api/problem.ts";
import { publishDraft, useProjectAction } from "../../api/projects.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";

/** Makes the draft the next version, with notes. */
export function PublishDraft({
  projectId: project_id,
  etag,
  next,
  onClose,
}: {
  readonly projectId: string;
  readonly etag: string | null;
  /** Number of the next version. */
  readonly next: number;
  readonly onClose: () => void;
}): JSX.Element {
  const deploy = useProjectAction(publishDraft);
  const [notes, setNotes] = useState("");
  const [publish, setPublish] = useState(true);
  const problem = deploy.error && toProblem(deploy.error);
  return (
    <Dialog title={`Publish the draft as version ${next}`} onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          deploy.mutate({ project_id, etag, notes, publish }, { onSuccess: onClose });
        }}
      >
        <Field label="Notes (optional)" hint="What changes in this version." errors={errorsAt(problem, "notes")}>
          {(control) => (
            <textarea
              className="input"
              rows={3}
              data-first
              value={notes}
              onChange={(event) => setNotes(event.target.value)}
              {...control}
            />
          )}
        </Field>
        <label className="check">
          <input type="checkbox" checked={publish} onChange={(event) => setPublish(event.target.checked)} />
          New runs use this version
        </label>
        {problem && errorsAt(problem, "notes").length === 0 && <Failure fault={problem} />}
        <Submit isPending={deploy.isPending}>Publish</Submit>
      </form>
    </Dialog>
  );
}
