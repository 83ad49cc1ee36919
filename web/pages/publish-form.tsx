import { useState, type JSX, type ReactNode } from "react";
import { toProblem } from "../api/problem.ts";
import { publishDraft, useProjectAction } from "../api/projects.ts";
import { Field, errorsAt } from "../parts/field.tsx";
import { Failure } from "../parts/states.tsx";
import { Submit } from "../parts/submit.tsx";

/** Makes the draft that `etag` belongs to the next version, with notes. */
export function PublishForm({
  projectId: project_id,
  etag,
  onPublished,
  children,
}: {
  readonly projectId: string;
  readonly etag: string | null;
  /** `isUsed`: whether new runs use the version. */
  readonly onPublished: (version: number, isUsed: boolean) => void;
  /** Texts above the notes. */
  readonly children?: ReactNode;
}): JSX.Element {
  const deploy = useProjectAction(publishDraft);
  const [notes, setNotes] = useState("");
  const [publish, setPublish] = useState(true);
  const problem = deploy.error && toProblem(deploy.error);
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const onSuccess = ({ version }: { readonly version: number }): void => onPublished(version, publish);
        deploy.mutate({ project_id, etag, notes, publish }, { onSuccess });
      }}
    >
      {children}
      <Field
        label="Notes (optional)"
        hint="What changes in this version. Shown in the list of versions."
        errors={errorsAt(problem, "notes")}
      >
        {(control) => (
          <textarea
            className="input"
            rows={3}
            data-first
            maxLength={10_000}
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
  );
}
