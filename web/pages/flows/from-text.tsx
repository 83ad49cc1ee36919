import { useState, type JSX } from "react";
import { Field } from "../../parts/field.tsx";

interface Props {
  readonly fault: string | null;
  readonly onText: (text: string | null) => void;
}

/** A flow from a file. */
export function FromFile({ fault, onText }: Props): JSX.Element {
  const [problem, setProblem] = useState<string | null>(null);
  const read = async (file: File | undefined): Promise<void> => {
    setProblem(null);
    onText(null);
    if (!file) return;
    try {
      onText(await file.text());
    } catch {
      setProblem(`Could not read ${file.name}.`);
    }
  };
  const wrong = problem ?? fault;
  return (
    <Field
      label="File"
      hint="A flow as JSON, or a response of the API with a field `flow`."
      errors={wrong === null ? [] : [wrong]}
    >
      {(control) => (
        <input
          className="input"
          type="file"
          accept=".json,application/json"
          data-first
          onChange={(event) => void read(event.target.files?.[0])}
          {...control}
        />
      )}
    </Field>
  );
}

/** A flow that is pasted, or read from the clipboard where the browser allows it. */
export function FromText({ fault, onText }: Props): JSX.Element {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const take = (next: string): void => {
    setText(next);
    setProblem(null);
    onText(next.trim() === "" ? null : next);
  };
  const paste = async (): Promise<void> => {
    try {
      take(await navigator.clipboard.readText());
    } catch {
      setProblem("The browser does not let this page read the clipboard. Paste with Ctrl+V instead.");
    }
  };
  const wrong = problem ?? fault;
  return (
    <div className="stack-tight">
      <Field label="Flow (JSON)" errors={wrong === null ? [] : [wrong]}>
        {(control) => (
          <textarea
            className="input mono"
            rows={10}
            spellCheck={false}
            data-first
            value={text}
            onChange={(event) => take(event.target.value)}
            {...control}
          />
        )}
      </Field>
      <div className="row">
        <button type="button" className="button button-small" onClick={() => void paste()}>
          Paste from clipboard
        </button>
      </div>
    </div>
  );
}
