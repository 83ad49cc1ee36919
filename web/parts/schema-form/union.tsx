import { useState, type JSX } from "react";
import { Field } from "../field.tsx";
import { startOf } from "./data.ts";
import { useForm, type ControlProps } from "./form-context.ts";
import { shownValue, useFieldProps } from "./frame.tsx";
import { fit, matchingVariant, variantsOf } from "./variants.ts";

/** A value of one of several types: a choice of the type, and the part for it. */
export function Union(props: ControlProps): JSX.Element {
  const { schema, value, change, path, label, depth, required } = props;
  const { root, Part } = useForm();
  const variants = variantsOf(schema, root);
  const language = schema["x-language"] ?? props.language;
  const only = variants.filter(({ schema: { type } }) => type !== "null");
  const [choice, setChoice] = useState(-1);
  const matching = matchingVariant(variants, value, root);
  const isChosen =
    choice !== -1 && value !== undefined && fit(variants[choice]?.schema ?? {}, value, root) > Number.NEGATIVE_INFINITY;
  const at = isChosen ? choice : matching;
  const { label: shown, ...field } = useFieldProps(props);
  const [single] = only;
  // A value that may only be null besides is edited as the other type; the field is then left empty.
  if (only.length === 1 && single !== undefined && value !== null) {
    const { title: _, ...rest } = single.schema;
    const described = { ...(schema.description !== undefined && { description: schema.description }), ...rest };
    return <Part {...props} schema={described} label={label} language={language} />;
  }
  const chosen = variants[at];
  const isOther = at === -1 && value !== undefined;
  return (
    <div className="form-group form-union">
      <Field label={shown} {...field}>
        {(control) => (
          <select
            className="input"
            value={isOther ? "other" : at === -1 ? "" : String(at)}
            onChange={(event) => {
              const next = event.target.value === "" ? -1 : Number(event.target.value);
              setChoice(next);
              change(path, next === -1 ? undefined : startOf(variants[next]?.schema, root));
            }}
            {...control}
          >
            {(at === -1 || !required) && (
              <option value="">
                {schema.default === undefined ? "Select…" : `Default: ${shownValue(schema.default)}`}
              </option>
            )}
            {isOther && <option value="other">Other value</option>}
            {variants.map((variant, index) => (
              <option key={index} value={index}>
                {variant.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {isOther && <Part {...props} schema={{}} label={`${label}: value`} required language={language} />}
      {chosen !== undefined && chosen.schema.type !== "null" && chosen.schema.const === undefined && (
        <Part
          // Another type has controls with texts of their own.
          key={at}
          {...props}
          schema={chosen.schema}
          label={chosen.label}
          required
          depth={depth + 1}
          language={language}
        />
      )}
    </div>
  );
}
