import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import type { JSX } from "react";
import { settingsOptions, usageOptions } from "../../../api/system.ts";
import { Field } from "../../../parts/field.tsx";
import type { ControlProps } from "../../../parts/schema-form/form-context.ts";
import { useFieldProps } from "../../../parts/schema-form/frame.tsx";

const MONTH_HOURS = 720;

/** The name of a model: any that the endpoint knows, with the ones that the organisation uses to choose from. */
export function ModelField(props: ControlProps): JSX.Element {
  const { value, change, path } = props;
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
          <input
            className="input"
            list={list}
            autoComplete="off"
            spellCheck={false}
            placeholder={standard === undefined ? undefined : `Default: ${standard}`}
            value={typeof value === "string" ? value : ""}
            onChange={(event) => change(path, event.target.value === "" ? undefined : event.target.value)}
            {...control}
          />
        )}
      </Field>
      <datalist id={list}>
        {names.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </datalist>
    </>
  );
}
