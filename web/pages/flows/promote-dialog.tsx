import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { differenceOptions, promote, propose, useEnvironmentAction, type Environment } from "../../api/environments.ts";
import { toProblem } from "../../api/problem.ts";
import { versionOptions } from "../../api/projects.ts";
import { connectionsOptions } from "../../api/system.ts";
import { connectionsIn } from "../../flow/connections.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Failure, Notice } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";
import { DifferenceFacts } from "./environment-difference.tsx";
import { VersionSelect } from "./version-select.tsx";

/** Gives an environment a version and its connections, or proposes that to a second person. */
export function PromoteDialog({
  projectId: project_id,
  environment: { name, version: current, connections: kept, requires_review },
  isNew,
  newest,
  onClose,
}: {
  readonly projectId: string;
  readonly environment: Pick<Environment, "name" | "version" | "connections" | "requires_review">;
  /** Whether promoting creates the environment. */
  readonly isNew: boolean;
  readonly newest: number;
  readonly onClose: () => void;
}): JSX.Element {
  const act = useEnvironmentAction<Parameters<typeof promote>[0], unknown>(requires_review ? propose : promote);
  const [version, setVersion] = useState(newest);
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>(kept);
  const [notes, setNotes] = useState("");
  const path = { project_id, environment: name };
  const difference = useQuery({ ...differenceOptions(path, version), enabled: !isNew });
  const { data: flow } = useQuery(versionOptions(project_id, version));
  const used = connectionsIn(flow?.flow);
  const connections = Object.fromEntries(used.flatMap((id) => (chosen[id] === undefined ? [] : [[id, chosen[id]]])));
  const isSame = JSON.stringify(connections) === JSON.stringify(kept);
  const problem = act.error && toProblem(act.error);
  return (
    <Dialog title={`Promote to ${name}`} wide onClose={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          act.mutate({ ...path, version, notes, ...(!isSame && { connections }) }, { onSuccess: onClose });
        }}
      >
        {requires_review && (
          <Notice tone="info">A second person has to approve this before calls of {name} use it.</Notice>
        )}
        <VersionSelect
          projectId={project_id}
          label="Version to promote"
          value={String(version)}
          onChange={(value) => setVersion(Number(value))}
        />
        {used.length > 0 && (
          <fieldset className="stack-tight">
            <legend>Connections in {name}</legend>
            {used.map((id) => (
              <ConnectionChoice
                key={id}
                id={id}
                value={connections[id]}
                onChange={(next) => {
                  const { [id]: _, ...others } = chosen;
                  setChosen(next === id ? others : { ...others, [id]: next });
                }}
              />
            ))}
          </fieldset>
        )}
        <Field label="Notes (optional)" hint="Why; shown in the history." errors={errorsAt(problem, "notes")}>
          {(control) => (
            <textarea
              className="input"
              rows={2}
              value={notes}
              onChange={(event) => setNotes(event.target.value)}
              {...control}
            />
          )}
        </Field>
        {difference.error && <Failure fault={toProblem(difference.error)} />}
        {difference.data && (
          <DifferenceFacts
            projectId={project_id}
            difference={{ ...difference.data, connections: changedIn(used, kept, connections, current !== null) }}
          />
        )}
        {problem && <Failure fault={problem} />}
        <Submit isPending={act.isPending}>{requires_review ? "Propose" : "Promote"}</Submit>
      </form>
    </Dialog>
  );
}

/** What the chosen connections change, for the difference. */
const changedIn = (
  used: readonly string[],
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  had: boolean,
) =>
  used
    .map((id) => ({ connection_id: id, before: had ? (before[id] ?? id) : null, after: after[id] ?? id }))
    .filter((each) => each.before !== each.after);

/** Chooses what an environment uses in place of a connection: one of the same provider. */
function ConnectionChoice({
  id,
  value = id,
  onChange,
}: {
  readonly id: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const { data } = useQuery(connectionsOptions);
  const all = data?.data ?? [];
  const own = all.find(({ connection_id }) => connection_id === id);
  const others = all.filter(
    ({ connection_id, provider_id }) => connection_id !== id && provider_id === own?.provider_id,
  );
  return (
    <Field label={own?.name ?? id}>
      {(control) => (
        <select className="input" value={value} onChange={(event) => onChange(event.target.value)} {...control}>
          <option value={id}>As in the flow</option>
          {others.map(({ connection_id, name }) => (
            <option key={connection_id} value={connection_id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
