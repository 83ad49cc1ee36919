import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type JSX } from "react";
import { connectableOptions, useCreate, type Creatable } from "../../../api/create.ts";
import { useIntent } from "../../../api/intent.ts";
import { toProblem } from "../../../api/problem.ts";
import { isObject } from "../../../flow/access.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { Field } from "../../../parts/field.tsx";
import { Fetched } from "../../../parts/list/fetched.tsx";
import { unreadable } from "../../../parts/schema-form/controls.tsx";
import { completed, initialData } from "../../../parts/schema-form/data.ts";
import { useFormState } from "../../../parts/schema-form/form-state.ts";
import { SchemaForm } from "../../../parts/schema-form/schema-form.tsx";
import { problemErrors } from "../../../parts/schema-form/problem-errors.ts";
import { Failure } from "../../../parts/states.tsx";
import { Submit } from "../../../parts/submit.tsx";
import { FORMS, connectionForm, type CreateForm } from "./create-forms.ts";

/** Creates what a field refers to. `onCreated` gets its ID. */
export function CreateDialog({
  kind,
  providerId,
  group,
  onCreated,
  onClose,
}: {
  readonly kind: Creatable;
  /** The provider of a new connection; the user chooses one if omitted. */
  readonly providerId?: string | undefined;
  /** Only providers of this group are offered. */
  readonly group?: string | undefined;
  readonly onCreated: (id: string) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const form = kind === "connection" ? undefined : FORMS[kind];
  return (
    // Keys that are pressed in the dialog are not for the editor around it.
    <div role="presentation" onKeyDown={(event) => event.stopPropagation()}>
      <Dialog title={form?.title ?? "Create connection"} onClose={onClose}>
        {form === undefined ? (
          <Connection providerId={providerId} group={group} onCreated={onCreated} />
        ) : (
          <Fields kind={kind} form={form} onCreated={onCreated} />
        )}
      </Dialog>
    </div>
  );
}

/** The provider and the type of credential decide about the fields of a connection. */
function Connection({
  providerId,
  group,
  onCreated,
}: {
  readonly providerId: string | undefined;
  readonly group: string | undefined;
  readonly onCreated: (id: string) => void;
}): JSX.Element {
  const providers = useQuery(connectableOptions);
  const [chosen, setChosen] = useState<string | null>(null);
  const [scheme, setScheme] = useState<string | null>(null);
  return (
    <Fetched query={providers} what="the providers" rows={3}>
      {(all) => {
        const offered = all.filter((each) =>
          providerId === undefined
            ? group === undefined || each.provider_group.includes(group)
            : each.provider_id === providerId,
        );
        const provider = offered.find((each) => each.provider_id === chosen) ?? offered[0];
        if (provider === undefined) return <p className="muted">This provider needs no connection.</p>;
        const { schemes } = provider.auth;
        const used = schemes.find((each) => each === scheme) ?? schemes[0] ?? "none";
        return (
          <div className="stack">
            {offered.length > 1 && (
              <Field label="Provider" hint={provider.description}>
                {(control) => (
                  <select
                    className="input"
                    data-first
                    value={provider.provider_id}
                    onChange={(event) => setChosen(event.target.value)}
                    {...control}
                  >
                    {offered.map((each) => (
                      <option key={each.provider_id} value={each.provider_id}>
                        {each.name}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
            )}
            {schemes.length > 1 && (
              <Field label="Type of credential">
                {(control) => (
                  <select
                    className="input"
                    value={used}
                    onChange={(event) => setScheme(event.target.value)}
                    {...control}
                  >
                    {schemes.map((each) => (
                      <option key={each} value={each}>
                        {SCHEME_NAMES[each] ?? each.replaceAll("_", " ")}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
            )}
            <Fields
              key={`${provider.provider_id} ${used}`}
              kind="connection"
              form={connectionForm(provider, used)}
              onCreated={onCreated}
            />
          </div>
        );
      }}
    </Fetched>
  );
}

const SCHEME_NAMES: Readonly<Record<string, string>> = {
  none: "None",
  api_key: "API key",
  api_keys: "Several API keys",
  basic: "User name and password",
  bearer: "Access token",
  oauth2_client_credentials: "OAuth 2.0 client credentials",
};

function Fields({
  kind,
  form,
  onCreated,
}: {
  readonly kind: Creatable;
  readonly form: CreateForm;
  readonly onCreated: (id: string) => void;
}): JSX.Element {
  const create = useCreate(kind, useIntent());
  const data = useFormState(() => initialData(form.schema) ?? {});
  const fields = useRef<HTMLFormElement>(null);
  const problem = create.error && toProblem(create.error);
  useEffect(() => {
    fields.current?.querySelector<HTMLElement>("input, textarea")?.focus();
  }, []);
  useEffect(() => {
    if (create.error) fields.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [create.error]);
  const errors = problemErrors(problem);
  return (
    <form
      ref={fields}
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const unread = unreadable(event.currentTarget);
        if (unread) return unread.focus();
        const body = completed(form.schema, data.value);
        create.mutate(form.bodyOf(isObject(body) ? body : {}), { onSuccess: onCreated });
      }}
    >
      <SchemaForm schema={form.schema} value={data.value} onChange={data.change} errors={errors} label={form.title} />
      {problem && errors.size === 0 && <Failure fault={problem} />}
      <Submit isPending={create.isPending}>Create</Submit>
    </form>
  );
}
