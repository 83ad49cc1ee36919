import { useState, type JSX } from "react";
import {
  changeEnvironment,
  deleteEnvironment,
  useEnvironmentAction,
  type Environment,
} from "../../api/environments.ts";
import { toProblem } from "../../api/problem.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";

/** As the API takes it: see `environmentName` in src/api/http/environment.ts. */
const NAME = /^(?!draft$)[a-z0-9][a-z0-9-]{0,63}$/;
const RULE = "Lower-case letters, digits and hyphens.";

export const isEnvironmentName = (name: string): boolean => NAME.test(name);

/** Names an environment that the flow does not have yet. It exists once a version is promoted to it. */
export function NewEnvironment({
  taken,
  onName,
  onClose,
}: {
  readonly taken: readonly Environment[];
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const [name, setName] = useState("");
  const [errors, setErrors] = useState<readonly string[]>([]);
  return (
    <Dialog title="New environment" onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isEnvironmentName(name)) setErrors([`${RULE} At most 64, and not "draft".`]);
          else if (taken.some((each) => each.name === name)) setErrors([`This flow already has ${name}.`]);
          else onName(name);
        }}
      >
        <NameField name={name} errors={errors} onChange={setName} />
        <Submit isPending={false}>Choose a version</Submit>
      </form>
    </Dialog>
  );
}

interface Props {
  readonly project_id: string;
  readonly environment: string;
  readonly onClose: () => void;
}

export function RenameEnvironment({ project_id, environment, onClose }: Props): JSX.Element {
  const change = useEnvironmentAction(changeEnvironment);
  const [name, setName] = useState(environment);
  const problem = change.error && toProblem(change.error);
  return (
    <Dialog title={`Rename ${environment}`} onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ project_id, environment, name }, { onSuccess: onClose });
        }}
      >
        <p>
          Triggers, monitors and pages follow. Calls that name {environment} fail from then on, and earlier runs keep
          the old name.
        </p>
        <NameField name={name} errors={errorsAt(problem, "name")} onChange={setName} />
        {problem && problem.status !== 422 && <Failure fault={problem} />}
        <Submit isPending={change.isPending}>Rename</Submit>
      </form>
    </Dialog>
  );
}

export function DeleteEnvironment({ project_id, environment, onClose }: Props): JSX.Element {
  const remove = useEnvironmentAction(deleteEnvironment);
  return (
    <Confirm
      title={`Delete ${environment}`}
      action="Delete"
      fault={remove.error && toProblem(remove.error)}
      isPending={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ project_id, environment }, { onSuccess: onClose })}
    >
      Calls that name {environment} fail from then on. Its runs and its history stay.
    </Confirm>
  );
}

function NameField({
  name,
  errors,
  onChange,
}: {
  readonly name: string;
  readonly errors: readonly string[];
  readonly onChange: (name: string) => void;
}): JSX.Element {
  return (
    <Field label="Name" hint={RULE} errors={errors}>
      {(control) => (
        <input
          className="input"
          data-first
          value={name}
          onChange={(event) => onChange(event.target.value)}
          {...control}
        />
      )}
    </Field>
  );
}
