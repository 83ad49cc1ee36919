import { useId, useState } from "react";
import type { JSX } from "react";
import { Field } from "../field.tsx";
import { FileInput } from "./file-input.tsx";
import { MarkdownInput } from "./markdown-input.tsx";
import { fieldOf, isFile, isMarkdown, pathKey } from "./schema.ts";
import type { PartProps } from "./schema.ts";

const LONG_TEXT = 200;
const BROKEN = "This is no JSON.";

/** The first control of a form whose text cannot be taken over into the data: half a date, or a text that is no JSON. */
export function unreadable(form: HTMLFormElement): HTMLElement | undefined {
  return [...form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea")].find(
    ({ validity }) => validity.badInput || validity.customError,
  );
}

export function Choice(props: PartProps): JSX.Element {
  const { schema, value, onChange } = props;
  const options = schema.enum ?? [];
  const at = options.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
  return (
    <Field {...fieldOf(props)}>
      {(control) => (
        <select
          className="input"
          value={at === -1 ? "" : String(at)}
          onChange={(event) => onChange(event.target.value === "" ? undefined : options[Number(event.target.value)])}
          {...control}
        >
          <option value="">Choose…</option>
          {options.map((each, index) => (
            <option key={index} value={index}>
              {typeof each === "string" ? each : JSON.stringify(each)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

const INPUT_TYPES: Readonly<Record<string, string>> = { date: "date", time: "time", email: "email", uri: "url" };

export function Text(props: PartProps): JSX.Element {
  if (isFile(props.schema)) return <FileInput {...props} />;
  return isMarkdown(props.schema) ? <MarkdownInput {...props} /> : <PlainText {...props} />;
}

function PlainText(props: PartProps): JSX.Element {
  const { schema, value, onChange } = props;
  const text = typeof value === "string" ? value : "";
  const change = (next: string): void => onChange(next === "" ? undefined : next);
  const isLong =
    schema.format === "textarea" || schema.contentMediaType !== undefined || (schema.maxLength ?? 0) > LONG_TEXT;
  return (
    <Field {...fieldOf(props)}>
      {(control) =>
        isLong ? (
          <textarea
            className="input"
            rows={4}
            value={text}
            onChange={(event) => change(event.target.value)}
            {...control}
          />
        ) : schema.format === "date-time" ? (
          <DateTime value={text} onChange={change} control={control} />
        ) : (
          <input
            className="input"
            type={INPUT_TYPES[schema.format ?? ""] ?? "text"}
            value={text}
            onChange={(event) => change(event.target.value)}
            {...control}
          />
        )
      }
    </Field>
  );
}

function DateTime({
  value,
  onChange,
  control,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly control: object;
}): JSX.Element {
  const at = Date.parse(value);
  const local = Number.isNaN(at)
    ? ""
    : new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <input
      className="input"
      type="datetime-local"
      value={local}
      onChange={(event) => onChange(event.target.value === "" ? "" : new Date(event.target.value).toISOString())}
      {...control}
    />
  );
}

/** What is no number is sent as it was typed: the service says what is wrong with it. */
export function NumberInput(props: PartProps): JSX.Element {
  const { value, onChange } = props;
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value));
  return (
    <Field {...fieldOf(props)}>
      {(control) => (
        <input
          className="input"
          inputMode="decimal"
          value={text}
          onChange={(event) => {
            const next = event.target.value;
            setText(next);
            const number = Number(next);
            onChange(next.trim() === "" ? undefined : Number.isNaN(number) ? next : number);
          }}
          {...control}
        />
      )}
    </Field>
  );
}

export function Check(props: PartProps): JSX.Element {
  const { schema, value, onChange, label, path, errors } = props;
  const id = useId();
  const own = errors.get(pathKey(path)) ?? [];
  const described = [schema.description === undefined ? "" : `${id}-hint`, own.length === 0 ? "" : `${id}-error`];
  return (
    <div className="field">
      <label className="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
          aria-describedby={described.join(" ").trim() || undefined}
          aria-invalid={own.length > 0 ? true : undefined}
        />
        {label}
      </label>
      {schema.description !== undefined && (
        <span id={`${id}-hint`} className="small muted">
          {schema.description}
        </span>
      )}
      {own.length > 0 && (
        <span id={`${id}-error`} className="small field-error" role="alert">
          {own.join(" ")}
        </span>
      )}
    </div>
  );
}

/** Whatever has no control of its own. */
export function Json(props: PartProps): JSX.Element {
  const { value, onChange } = props;
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [isBroken, setBroken] = useState(false);
  const { errors, ...field } = fieldOf(props);
  return (
    <Field {...field} errors={isBroken ? [BROKEN, ...errors] : errors}>
      {(control) => (
        <textarea
          className="input mono"
          rows={5}
          spellCheck={false}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            try {
              onChange(target.value.trim() === "" ? undefined : (JSON.parse(target.value) as unknown));
              setBroken(false);
              target.setCustomValidity("");
            } catch {
              setBroken(true);
              // The data still has what could be read last, which is not what is seen: see unreadable.
              target.setCustomValidity(BROKEN);
            }
          }}
          {...control}
        />
      )}
    </Field>
  );
}
