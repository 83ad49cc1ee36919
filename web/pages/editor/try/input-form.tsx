import type { JSX } from "react";
import { Field } from "../../../parts/field.tsx";
import { jsonFault, labelOf, type InputField, type OneInput } from "../../../flow/input-fields.ts";
import { FilesInput } from "./files-input.tsx";
import { MediaInput } from "./media-input.tsx";
import type { Entered } from "./kept-inputs.ts";

const MOST_ROWS = 10;

/** The inputs of the flow. An empty field is not sent. */
export function InputForm({
  fields,
  entered,
  errors,
  onChange,
  beforeUpload,
}: {
  readonly fields: readonly InputField[];
  readonly entered: Entered;
  /** Messages of the last attempt to run, by input. */
  readonly errors: ReadonlyMap<string, readonly string[]>;
  readonly onChange: (change: (before: Entered) => Entered) => void;
  /** Saves the draft, which a document is uploaded to. */
  readonly beforeUpload: () => Promise<boolean>;
}): JSX.Element {
  const set = (id: string) => (text: string | undefined) =>
    onChange(({ inputs, userId }) => {
      const others = Object.entries(inputs).filter(([each]) => each !== id);
      const changed = text === undefined || text === "" ? others : [...others, [id, text] as const];
      return { userId, inputs: Object.fromEntries(changed) };
    });
  return (
    <>
      {fields.map((field) => {
        const shared = {
          field,
          value: Object.hasOwn(entered.inputs, field.id) ? (entered.inputs[field.id] ?? "") : "",
          errors: errors.get(field.id) ?? [],
          onChange: set(field.id),
        };
        if (field.kind === "files")
          return (
            <FilesInput
              key={field.id}
              field={field}
              userId={entered.userId}
              onUserId={(userId) => onChange((before) => ({ ...before, userId }))}
              beforeUpload={beforeUpload}
            />
          );
        if (field.kind === "text") return <TextInput key={field.id} {...shared} />;
        if (field.kind === "url") return <UrlInput key={field.id} {...shared} />;
        return <MediaInput key={field.id} {...shared} />;
      })}
    </>
  );
}

function TextInput({ field, value, errors, onChange }: OneInput): JSX.Element {
  const fault = jsonFault(value);
  const rows = Math.min(Math.max(value.split("\n", MOST_ROWS).length, value.length > 60 ? 3 : 1), MOST_ROWS);
  const count = [...value].length;
  return (
    <div className="stack-tight try-input">
      <Field label={labelOf(field)} {...(field.hint !== null && { hint: field.hint })} errors={errors}>
        {(control) => (
          <textarea
            className={`input ${fault === undefined ? "" : "mono"}`}
            data-input={field.id}
            rows={rows}
            spellCheck={false}
            placeholder={field.fallback ?? ""}
            value={value}
            onChange={(event) => onChange(event.target.value)}
            {...control}
          />
        )}
      </Field>
      {fault !== undefined && (
        <div className="row small">
          <span className={fault === null ? "muted" : "field-error"}>
            {fault === null ? "Valid JSON" : "Not valid JSON"}
          </span>
          {fault === null && (
            <button
              type="button"
              className="button button-small"
              onClick={() => onChange(JSON.stringify(JSON.parse(value), null, 2))}
            >
              Format
            </button>
          )}
        </div>
      )}
      {field.maxLength !== null && count > field.maxLength * 0.8 && (
        <span className={`small ${count > field.maxLength ? "field-error" : "muted"}`}>
          {count.toLocaleString()} of {field.maxLength.toLocaleString()} characters
        </span>
      )}
    </div>
  );
}

function UrlInput({ field, value, errors, onChange }: OneInput): JSX.Element {
  return (
    <Field label={labelOf(field)} {...(field.hint !== null && { hint: field.hint })} errors={errors}>
      {(control) => (
        <input
          className="input"
          type="url"
          data-input={field.id}
          placeholder={field.fallback ?? "https://"}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          {...control}
        />
      )}
    </Field>
  );
}
