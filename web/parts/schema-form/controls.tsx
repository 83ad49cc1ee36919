import { useEffect, useRef, useState, type ChangeEvent, type JSX, type RefObject } from "react";
import { Field } from "../field.tsx";
import { typedJson, typedNumber, type Typed } from "../typed-json.ts";
import { FileInput } from "./file-input.tsx";
import { useForm, useMessages, type ControlProps } from "./form-context.ts";
import { emptyText, Errors, GroupHint, labelOf, useFieldProps, useNotes, Warnings } from "./frame.tsx";
import { MarkdownInput } from "./markdown-input.tsx";
import { allowsNull, isFile, isMarkdown } from "./schema.ts";

const LONG_TEXT = 200;

/** The first control whose text is not in the data: an incomplete date, or a value that cannot be sent as typed. */
export function unreadable(form: HTMLFormElement): HTMLElement | undefined {
  return [...form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea")].find(
    ({ validity }) => validity.badInput || validity.customError,
  );
}

export function Choice(props: ControlProps): JSX.Element {
  const { schema, value, change, path } = props;
  const options = schema.enum ?? [];
  const at = options.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
  const textOf = (each: unknown): string => (typeof each === "string" ? each : JSON.stringify(each));
  const empty = schema.default === undefined ? "Select…" : `Default: ${textOf(schema.default)}`;
  // A value that is not offered is shown as it is, because the flow has it.
  const isOther = at === -1 && value !== undefined;
  return (
    <Field {...useFieldProps(props)}>
      {(control) => (
        <select
          className="input"
          value={isOther ? "other" : at === -1 ? "" : String(at)}
          onChange={(event) => change(path, options[Number(event.target.value || "-1")])}
          {...control}
        >
          <option value="">{empty}</option>
          {isOther && <option value="other">{textOf(value)}</option>}
          {options.map((each, index) => (
            <option key={index} value={index}>
              {textOf(each)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A field that can have one value only. A value that differs is an error, which the API reports. */
export function Constant(props: ControlProps): JSX.Element | null {
  const { schema, value, required } = props;
  const { errors } = useMessages(props.path);
  const only = schema.const ?? null;
  const isSet = JSON.stringify(value) === JSON.stringify(only);
  if (required && isSet && errors.length === 0) return null;
  return <Choice {...props} schema={{ ...schema, enum: [only] }} />;
}

const INPUT_TYPES: Readonly<Record<string, string>> = {
  date: "date",
  time: "time",
  email: "email",
  uri: "url",
  password: "password",
};

export function Text(props: ControlProps): JSX.Element {
  if (isFile(props.schema)) return <FileInput {...props} />;
  return isMarkdown(props.schema) ? <MarkdownInput {...props} /> : <PlainText {...props} />;
}

function PlainText(props: ControlProps): JSX.Element {
  const { schema, value, change, path } = props;
  const text = typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
  const set = (next: string): void => change(path, next === "" ? undefined : next);
  const isLine = Object.hasOwn(INPUT_TYPES, schema.format ?? "");
  const isLong =
    schema.format === "textarea" ||
    schema.contentMediaType !== undefined ||
    (!isLine && (schema.maxLength ?? 0) > LONG_TEXT);
  const placeholder = emptyText(props);
  return (
    <Field {...useFieldProps(props)}>
      {(control) =>
        isLong || (text.includes("\n") && schema.format !== "password") ? (
          <textarea
            className="input"
            rows={4}
            placeholder={placeholder}
            value={text}
            onChange={(event) => set(event.target.value)}
            {...control}
          />
        ) : schema.format === "date-time" ? (
          <DateTime value={text} onChange={set} control={control} />
        ) : (
          <input
            className="input"
            type={INPUT_TYPES[schema.format ?? ""] ?? "text"}
            placeholder={placeholder}
            autoComplete={schema.format === "password" ? "new-password" : "off"}
            value={text}
            onChange={(event) => set(event.target.value)}
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

const sameValue = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

type TypedControl = HTMLInputElement | HTMLTextAreaElement;

/**
 * State of a control whose text is parsed into the data. While the text is invalid, the data keeps the last valid
 * value, so `unreadable` finds the control before the form is sent. If the data changes otherwise, as by undo, the
 * text follows it.
 */
function useTyped<Control extends TypedControl>(
  { schema, value, change, path }: ControlProps,
  read: (text: string) => Typed,
  textOf: (value: unknown) => string,
) {
  const shown = value === undefined || (value === null && !allowsNull(schema)) ? "" : textOf(value);
  const [typed, setTyped] = useState({ text: shown, value, fault: "" });
  const isCurrent = sameValue(typed.value, value);
  const { text, fault } = isCurrent ? typed : { text: shown, fault: "" };
  const control: RefObject<Control | null> = useRef(null);
  useEffect(() => control.current?.setCustomValidity(fault), [fault]);
  const take = (next: string, target?: Control): void => {
    const result = next.trim() === "" ? { value: undefined } : read(next);
    const wrong = "fault" in result ? result.fault : "";
    // Before the next render too, because the form can be sent at any time.
    target?.setCustomValidity(wrong);
    setTyped({ text: next, value: "value" in result ? result.value : value, fault: wrong });
    if ("value" in result) change(path, result.value);
  };
  const type = ({ target }: ChangeEvent<Control>): void => take(target.value, target);
  return { text, fault: fault === "" ? [] : [fault], type, take, control };
}

// A number with more digits than the browser keeps is a string in a flow.
const numberText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const jsonText = (value: unknown): string => JSON.stringify(value, null, 2);

/** Text that is not a number is sent as typed, so that the API explains the error. */
export function NumberInput(props: ControlProps): JSX.Element {
  const { text, fault, type, control: ref } = useTyped<HTMLInputElement>(props, typedNumber, numberText);
  const { errors, ...field } = useFieldProps(props);
  return (
    <Field {...field} errors={[...fault, ...errors]}>
      {(control) => (
        <input
          ref={ref}
          className="input"
          inputMode="decimal"
          autoComplete="off"
          placeholder={emptyText(props)}
          value={text}
          onChange={type}
          {...control}
        />
      )}
    </Field>
  );
}

export function Check(props: ControlProps): JSX.Element {
  const { schema, value, change, path } = props;
  const { errors } = useMessages(path);
  const { describedBy, notes } = useNotes(props);
  return (
    <div className="field">
      <label className="check">
        <input
          type="checkbox"
          checked={(value ?? schema.default) === true}
          onChange={(event) => change(path, event.target.checked)}
          aria-describedby={describedBy}
          aria-invalid={errors.length > 0 ? true : undefined}
        />
        {props.label}
      </label>
      {notes}
    </div>
  );
}

/** A list of some of a few values, as boxes. */
export function Checks(props: ControlProps & { readonly options: readonly string[] }): JSX.Element {
  const { schema, value, change, path, options } = props;
  const given: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : [];
  const chosen = value === undefined && Array.isArray(schema.default) ? (schema.default as unknown[]) : given;
  const others = given.filter((each) => typeof each !== "string" || !options.includes(each));
  const { errors, warnings } = useMessages(path);
  const toggle = (option: string, isOn: boolean): void => {
    const next = options.filter((each) => (each === option ? isOn : chosen.includes(each)));
    const all = [...next, ...others];
    change(path, all.length === 0 && !props.required && schema.default === undefined ? undefined : all);
  };
  return (
    <fieldset className="form-group">
      <legend>{labelOf(props)}</legend>
      <GroupHint text={schema.description} />
      <div className="row">
        {options.map((option) => (
          <label key={option} className="check">
            <input
              type="checkbox"
              checked={chosen.includes(option)}
              onChange={(event) => toggle(option, event.target.checked)}
            />
            {option}
          </label>
        ))}
      </div>
      <Warnings warnings={warnings} />
      <Errors errors={errors} />
    </fieldset>
  );
}

/** A JSON editor for types without a control of their own. */
export function Json(props: ControlProps): JSX.Element {
  const { text, fault, type, take, control: ref } = useTyped<HTMLTextAreaElement>(props, typedJson, jsonText);
  const { errors, ...field } = useFieldProps(props);
  const { JsonText } = useForm();
  if (JsonText !== undefined) return <JsonText {...field} errors={[...fault, ...errors]} text={text} onChange={take} />;
  return (
    <Field {...field} errors={[...fault, ...errors]}>
      {(control) => (
        <textarea
          ref={ref}
          className="input mono"
          rows={Math.min(16, Math.max(4, text.split("\n").length))}
          spellCheck={false}
          value={text}
          onChange={type}
          {...control}
        />
      )}
    </Field>
  );
}
