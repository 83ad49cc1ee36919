import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { flowInputsOptions, type Run, type RunInputs } from "../../api/runs.ts";
import { Field } from "../../parts/field.tsx";
import { typedJson } from "../../parts/typed-json.ts";
import { isCut } from "../../parts/value.tsx";

interface InputField {
  readonly id: string;
  /** The input's name in the flow, with its ID. */
  readonly label: string;
  readonly hint: string | undefined;
  /** The value in the run; undefined if it was not set. */
  readonly given: unknown;
  /** Whether it is edited as text; other types are edited as JSON. */
  readonly isText: boolean;
}

export interface EditedInputs {
  readonly fields: readonly InputField[];
  readonly texts: Readonly<Record<string, string>>;
  readonly edit: (id: string, text: string) => void;
  /** The changed inputs; null if one of them is invalid. */
  readonly changed: RunInputs | null;
  readonly faults: Readonly<Record<string, string>>;
}

/** The inputs of a run as form fields, including inputs that only the selected version has. */
export function useEditedInputs(run: Run, version: number): EditedInputs {
  const { data: io } = useQuery(flowInputsOptions(run.project_id, version));
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const properties = (io?.inputs["properties"] ?? {}) as Record<
    string,
    { type?: unknown; title?: string; description?: string }
  >;
  const ids = [...new Set([...Object.keys(properties), ...Object.keys(run.inputs)])];
  const fields = ids.map((id): InputField => {
    const given = run.inputs[id];
    const { type, title, description } = properties[id] ?? {};
    // The type of a value that is not known here comes from the flow.
    const isUnknown = given === undefined || given === null || isCut(given);
    const isText = isUnknown ? type === undefined || type === "string" : isPlain(given);
    return { id, label: called(id, title), given, isText, hint: description };
  });
  const faults: Record<string, string> = {};
  const changed: Record<string, unknown> = {};
  for (const field of fields) {
    const text = texts[field.id];
    if (text === undefined || text === shownText(field)) continue;
    const typed = field.isText ? { value: text } : typedJson(text);
    if ("fault" in typed) faults[field.id] = typed.fault;
    else changed[field.id] = typed.value;
  }
  return {
    fields,
    texts,
    edit: (id, text) => setTexts((known) => ({ ...known, [id]: text })),
    changed: Object.keys(faults).length > 0 ? null : changed,
    faults,
  };
}

/** The display text of a node: its name, with the ID in brackets. */
export const called = (id: string, name: string | undefined): string =>
  name === undefined || name === "" || name === id ? id : `${name} (${id})`;

const isPlain = (value: unknown): boolean => typeof value === "string";

function shownText({ given, isText }: InputField): string {
  if (given === undefined || isCut(given)) return "";
  if (isText) return typeof given === "string" ? given : "";
  return JSON.stringify(given, null, 2);
}

/** A field for each input; untouched fields keep the run's value. */
export function InputsForm({ inputs }: { readonly inputs: EditedInputs }): JSX.Element {
  const { fields, texts, edit, faults } = inputs;
  if (fields.length === 0) return <p className="muted">This flow has no inputs.</p>;
  return (
    <fieldset className="stack-tight">
      <legend>Inputs</legend>
      {fields.map((field) => {
        const { id, label, given, isText, hint } = field;
        const text = texts[id] ?? shownText(field);
        const isNew = texts[id] !== undefined && texts[id] !== shownText(field);
        const kept = isCut(given) && !isNew ? `${Math.ceil(given.size / 1000).toLocaleString()} kB, unchanged` : "";
        const fault = faults[id];
        return (
          <Field
            key={id}
            label={isNew ? `${label}, changed` : label}
            {...(hint !== undefined && { hint })}
            errors={fault === undefined ? [] : [fault]}
          >
            {(control) => (
              <textarea
                className={`input ${isText ? "" : "mono"}`}
                rows={Math.min(Math.max(text.split("\n", 9).length, 2), 8)}
                spellCheck={false}
                placeholder={kept === "" ? (given === undefined ? "not set" : "") : kept}
                value={text}
                onChange={(event) => edit(id, event.target.value)}
                {...control}
              />
            )}
          </Field>
        );
      })}
    </fieldset>
  );
}
