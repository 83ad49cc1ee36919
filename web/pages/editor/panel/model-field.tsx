import { useQuery } from "@tanstack/react-query";
import { Suspense, lazy, useId, useState, type JSX } from "react";
import { useMay } from "../../../api/accounts.ts";
import { roleToCreate } from "../../../api/create.ts";
import { settingsOptions, usageOptions } from "../../../api/system.ts";
import { Field } from "../../../parts/field.tsx";
import type { ControlProps } from "../../../parts/schema-form/form-context.ts";
import { useFieldProps } from "../../../parts/schema-form/frame.tsx";
import { useNodeForm } from "./panel-context.ts";

const CreateDialog = lazy(async () => ({ default: (await import("./create-dialog.tsx")).CreateDialog }));

const MONTH_HOURS = 720;
/** Group of the providers that have models. */
const MODELS = "models";

/** The name of a model: any that the endpoint knows, with the ones that the organisation uses to choose from. */
export function ModelField(props: ControlProps): JSX.Element {
  const { value, change, path } = props;
  const { isReadOnly } = useNodeForm();
  const mayCreate = useMay(roleToCreate("connection")) && !isReadOnly;
  const [isCreating, setCreating] = useState(false);
  const close = (): void => setCreating(false);
  const { data: settings } = useQuery(settingsOptions);
  const { data: usage } = useQuery(usageOptions({ group_by: "model", hours: MONTH_HOURS }));
  const list = useId();
  const standard = settings?.default_model ?? undefined;
  const used = usage?.data.map(({ key }) => key) ?? [];
  const names = [...new Set([...(standard === undefined ? [] : [standard]), ...used])];
  return (
    <>
      <Field {...useFieldProps(props)}>
        {(control) => (
          <div className="reference">
            <input
              className="input reference-button"
              list={list}
              autoComplete="off"
              spellCheck={false}
              placeholder={standard === undefined ? undefined : `Default: ${standard}`}
              value={typeof value === "string" ? value : ""}
              onChange={(event) => change(path, event.target.value === "" ? undefined : event.target.value)}
              {...control}
            />
            {mayCreate && (
              <button
                type="button"
                className="button button-quiet button-small"
                aria-haspopup="dialog"
                onClick={() => setCreating(true)}
              >
                Connect<span className="visually-hidden"> a model provider</span>
              </button>
            )}
          </div>
        )}
      </Field>
      <datalist id={list}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </datalist>
      {isCreating && (
        <Suspense>
          <CreateDialog
            kind="connection"
            group={MODELS}
            onCreated={(connection) => {
              change([...path.slice(0, -1), "connection_id"], connection);
              close();
            }}
            onClose={close}
          />
        </Suspense>
      )}
    </>
  );
}
