import { useQuery } from "@tanstack/react-query";
import { useRef, type JSX } from "react";
import { useMay } from "../../api/accounts.ts";
import type { Schemas } from "../../api/client.ts";
import { environmentsOptions } from "../../api/environments.ts";
import { isStale, toProblem } from "../../api/problem.ts";
import { changeTrigger, triggerKindOptions, useTriggerAction, type ShownTrigger } from "../../api/triggers.ts";
import { unreadable } from "../../parts/schema-form/controls.tsx";
import { useFormState } from "../../parts/schema-form/form-state.ts";
import { SchemaForm } from "../../parts/schema-form/schema-form.tsx";
import { problemErrors } from "../../parts/schema-form/problem-errors.ts";
import { ChangedMeanwhile, Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";
import { Value } from "../../parts/value.tsx";

const INPUTS = {
  type: "object",
  title: "Inputs",
  description: "A CEL expression over `payload` for each input of the flow, by the ID of its node.",
  additionalProperties: { type: "string" },
};

type Settings = Pick<ShownTrigger, "environment" | "config" | "inputs">;

/** What a trigger is set to, the environment that it starts, and the inputs that it gives to the flow. */
export function TriggerSettings({ trigger }: { readonly trigger: ShownTrigger }): JSX.Element {
  const { id, etag, project_id, provider_id, trigger_id, environment, config, inputs } = trigger;
  const mayEdit = useMay("editor", project_id);
  const kind = useQuery(triggerKindOptions(provider_id, trigger_id));
  const data = useFormState(() => ({ environment, config, inputs }));
  const environments = useQuery(environmentsOptions(project_id));
  const change = useTriggerAction(changeTrigger);
  const form = useRef<HTMLFormElement>(null);
  const problem = change.error && toProblem(change.error);
  const errors = problemErrors(problem);
  if (kind.data === undefined)
    return (
      <section className="panel stack" aria-label="Settings">
        <h2>Settings</h2>
        <Value value={{ environment, config, inputs }} label="Settings of the trigger" />
      </section>
    );
  const names = (environments.data?.data ?? []).map(({ name }) => name);
  const where = {
    type: "string",
    title: "Environment",
    description: "The runs use the version and the connections of this environment.",
    enum: names.includes(environment) ? names : [...names, environment],
  };
  const settings = { ...kind.data.config_schema, title: "Settings" };
  return (
    <section className="panel stack" aria-label="Settings">
      <h2>Settings</h2>
      <p className="small muted wrap">{kind.data.description}</p>
      <form
        ref={form}
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const unread = unreadable(event.currentTarget);
          if (unread) return unread.focus();
          const body = changeOf(trigger, data.value as Settings);
          change.mutate({ id, etag, ...body });
        }}
      >
        <fieldset className="stack" disabled={!mayEdit}>
          <SchemaForm
            schema={{
              type: "object",
              properties: { environment: where, config: settings, inputs: INPUTS },
              required: ["environment", "config", "inputs"],
            }}
            value={data.value}
            onChange={data.change}
            errors={errors}
            label="Trigger"
          />
        </fieldset>
        {isStale(change.error) ? <ChangedMeanwhile /> : problem && errors.size === 0 && <Failure fault={problem} />}
        {mayEdit && data.isDirty && <Submit isPending={change.isPending}>Save</Submit>}
      </form>
    </section>
  );
}

/** The change from the stored settings: a field that was emptied is null, because the API merges members. */
function changeOf(before: Settings, after: Settings): Schemas["ProjectTriggerChange"] {
  const gone = (one: object, other: object = {}): object =>
    Object.fromEntries(Object.keys(one).flatMap((name) => (Object.hasOwn(other, name) ? [] : [[name, null]])));
  return {
    environment: after.environment,
    config: { ...after.config, ...gone(before.config, after.config) },
    inputs: { ...after.inputs, ...gone(before.inputs, after.inputs) },
  };
}
