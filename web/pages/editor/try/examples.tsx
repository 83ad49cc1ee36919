import { useEffect, useRef, useState, type JSX } from "react";
import type { Json } from "../../../flow/document.ts";
import { Field } from "../../../parts/field.tsx";
import { useEditor } from "../editor-context.ts";
import { examplesOf, textsOf } from "../../../flow/input-fields.ts";
import type { Entered } from "./kept-inputs.ts";

/** Fills the form with an example of the flow. */
export function Examples({
  entered,
  onChoose,
}: {
  readonly entered: Entered;
  readonly onChoose: (inputs: Readonly<Record<string, string>>) => void;
}): JSX.Element | null {
  const { state } = useEditor();
  const examples = examplesOf(state.document.examples);
  if (examples.length === 0) return null;
  const shown = asText(entered.inputs);
  const at = examples.findIndex(({ inputs }) => asText(textsOf(inputs)) === shown);
  return (
    <Field label="Example">
      {(control) => (
        <select
          className="input"
          value={at === -1 ? "" : String(at)}
          onChange={(event) => {
            const example = examples[Number(event.target.value)];
            if (event.target.value !== "" && example) onChoose(textsOf(example.inputs));
          }}
          {...control}
        >
          <option value="">{at === -1 ? "Your own inputs" : "Choose an example"}</option>
          {examples.map(({ name }, index) => (
            <option key={index} value={index}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Inputs in any order as the same text. */
const asText = (inputs: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(inputs).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** Longest input of an example (characters): a picture or recording makes the flow too large. */
const LONGEST = 20_000;

/** Adds the inputs to the examples of the flow, as a change that can be undone. */
export function SaveExample({
  entered,
  onDone,
}: {
  readonly entered: Entered;
  readonly onDone: () => void;
}): JSX.Element {
  const { state, dispatch } = useEditor();
  const [name, setName] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const all = Object.entries(entered.inputs);
  const long = all.filter(([, text]) => text.length > LONGEST).map(([id]) => id);
  const save = (): void => {
    const inputs = Object.fromEntries(all.filter(([id]) => !long.includes(id)));
    const known: unknown = state.document.examples;
    const examples = [...(Array.isArray(known) ? (known as readonly Json[]) : []), { name: name.trim(), inputs }];
    dispatch({ type: "do", command: { type: "setDocument", fields: { examples } } });
    onDone();
  };
  return (
    <form
      className="stack-tight panel"
      aria-label="Save as example"
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== "") save();
      }}
    >
      <Field
        label="Name of the example"
        {...(long.length > 0 && { hint: `Too long for an example, so omitted: ${long.join(", ")}` })}
      >
        {(control) => (
          <input
            className="input"
            required
            maxLength={200}
            ref={field}
            value={name}
            onChange={(event) => setName(event.target.value)}
            {...control}
          />
        )}
      </Field>
      <div className="row">
        <button type="submit" className="button button-small button-primary" disabled={name.trim() === ""}>
          Save example
        </button>
        <button type="button" className="button button-small" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}
