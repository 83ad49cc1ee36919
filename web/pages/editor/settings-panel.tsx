import { useState, type JSX } from "react";
import type { Json, JsonObject } from "../../flow/document.ts";
import { Field } from "../../parts/field.tsx";
import { useEditor } from "./editor-context.ts";

/** Numbers among the settings of a flow. */
const NUMBERS: ReadonlyArray<readonly [name: string, label: string, hint: string]> = [
  ["timeout_seconds", "Time limit of a run (seconds)", "The installation's default if empty."],
  ["max_concurrent_runs", "Unfinished runs at one time", "Further runs wait in a queue. Not limited if empty."],
  ["max_cost_usd", "Model cost of a run (US dollars)", "Once it is reached, no model is called any more."],
];

/** Name, description and settings of the whole flow. */
export function SettingsPanel(): JSX.Element {
  const { state, dispatch, isReadOnly, problems } = useEditor();
  const { document } = state;
  const settings: JsonObject = document.settings ?? {};
  const errorsAt = (...path: string[]): string[] =>
    problems.filter((each) => path.every((name, index) => each.path[index] === name)).map(({ message }) => message);
  const setField = (name: string, value: Json | undefined): void =>
    dispatch({ type: "do", command: { type: "setDocument", fields: { [name]: value } }, group: `document ${name}` });
  const setSetting = (name: string, value: Json | undefined): void => {
    const { [name]: _, ...others } = settings;
    const changed = value === undefined ? others : { ...settings, [name]: value };
    const next = Object.keys(changed).length === 0 ? undefined : changed;
    dispatch({ type: "do", command: { type: "setSettings", settings: next }, group: `setting ${name}` });
  };
  const redact = settings["redact"];
  return (
    <fieldset className="settings-fields" disabled={isReadOnly}>
      <legend className="visually-hidden">Flow settings</legend>
      <Field label="Name" errors={errorsAt("name")}>
        {(control) => (
          <input
            {...control}
            className="input"
            value={typeof document.name === "string" ? document.name : ""}
            onChange={(event) => setField("name", event.target.value)}
          />
        )}
      </Field>
      <Field label="Description" errors={errorsAt("description")}>
        {(control) => (
          <textarea
            {...control}
            className="input"
            value={document.description ?? ""}
            onChange={(event) => setField("description", event.target.value === "" ? undefined : event.target.value)}
          />
        )}
      </Field>
      {NUMBERS.map(([name, label, hint]) => (
        <NumberField
          key={name}
          label={label}
          hint={hint}
          errors={errorsAt("settings", name)}
          value={settings[name]}
          onChange={(value) => setSetting(name, value)}
        />
      ))}
      <Field
        label="Masked values"
        hint="JSON paths, one a line, such as $..password. Millrace masks them in its records."
        errors={errorsAt("settings", "redact")}
      >
        {(control) => (
          <textarea
            {...control}
            className="input mono"
            value={Array.isArray(redact) ? redact.join("\n") : ""}
            onChange={(event) => {
              const lines = event.target.value.split("\n");
              setSetting("redact", event.target.value === "" ? undefined : lines);
            }}
          />
        )}
      </Field>
    </fieldset>
  );
}

function NumberField({
  label,
  hint,
  errors,
  value,
  onChange,
}: {
  readonly label: string;
  readonly hint: string;
  readonly errors: readonly string[];
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null);
  const shown = typed ?? (typeof value === "number" ? String(value) : value === undefined ? "" : JSON.stringify(value));
  const fault = typed !== null && typed !== "" && !Number.isFinite(Number(typed)) ? ["Enter a number."] : [];
  return (
    <Field label={label} hint={hint} errors={[...fault, ...errors]}>
      {(control) => (
        <input
          {...control}
          className="input"
          inputMode="decimal"
          value={shown}
          onChange={(event) => {
            setTyped(event.target.value);
            const number = Number(event.target.value);
            if (event.target.value.trim() === "") onChange(undefined);
            else if (Number.isFinite(number)) onChange(number);
          }}
          onBlur={() =>
            setTyped((last) => (last !== null && last !== "" && !Number.isFinite(Number(last)) ? last : null))
          }
        />
      )}
    </Field>
  );
}
