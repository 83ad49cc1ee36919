import { useState, type JSX } from "react";
import { useNavigate } from "react-router";
import type { Schemas, Tagged } from "../../api/client.ts";
import { isStale, toProblem } from "../../api/problem.ts";
import { deleteProject, renameProject, useProjectAction } from "../../api/projects.ts";
import { links } from "../../links.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { ChangedMeanwhile, Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";

interface Props {
  readonly project: Tagged<Schemas["ProjectWithUsers"]>;
  readonly onClose: () => void;
}

/** Changes the name, which is also the folder, and the description. */
export function RenameDialog({ project, onClose }: Props): JSX.Element {
  const change = useProjectAction(renameProject);
  const [name, setName] = useState(project.name);
  const [description, setDescription] = useState(project.description);
  const problem = change.error && toProblem(change.error);
  const { project_id, etag } = project;
  return (
    <Dialog title="Rename" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ project_id, etag, name, description }, { onSuccess: onClose });
        }}
      >
        <Field label="Name" hint="Slashes make folders: support/refunds." errors={errorsAt(problem, "name")}>
          {(control) => (
            <input
              className="input"
              data-first
              value={name}
              onChange={(event) => setName(event.target.value)}
              {...control}
            />
          )}
        </Field>
        <Field label="Description (optional)" errors={errorsAt(problem, "description")}>
          {(control) => (
            <textarea
              className="input"
              rows={3}
              value={description}
              onChange={(event) => setDescription(event.target.value)}
              {...control}
            />
          )}
        </Field>
        {isStale(change.error) && <ChangedMeanwhile />}
        {problem && problem.status !== 422 && !isStale(change.error) && <Failure fault={problem} />}
        <Submit isPending={change.isPending}>Save</Submit>
      </form>
    </Dialog>
  );
}

/** Deletes the flow; unfinished runs must be cancelled with it. */
export function DeleteDialog({ project: { project_id, name }, onClose }: Props): JSX.Element {
  const remove = useProjectAction(deleteProject);
  const navigate = useNavigate();
  const problem = remove.error && toProblem(remove.error);
  const hasRuns = problem?.code === "runs_open";
  return (
    <Confirm
      title={`Delete ${name}`}
      action={hasRuns ? "Cancel runs and delete" : "Delete"}
      fault={problem}
      isPending={remove.isPending}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate({ project_id, cancel_runs: hasRuns }, { onSuccess: () => void navigate(links.flows()) })
      }
    >
      Deletes the flow with all its versions, its draft, triggers and monitors. Calls fail from then on. Runs are kept
      until retention purges them. You cannot undo this.
    </Confirm>
  );
}
