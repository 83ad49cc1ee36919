import { useState, type JSX } from "react";
import { Field } from "../field.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import type { ControlProps } from "./form-context.ts";
import { useFieldProps } from "./frame.tsx";

/** A Markdown editor with a preview. */
export function MarkdownInput(props: ControlProps): JSX.Element {
  const { value, change, path, label } = props;
  const [isShown, setShown] = useState(false);
  const text = typeof value === "string" ? value : "";
  return (
    <div className="stack-tight">
      <Field {...useFieldProps(props)}>
        {(control) => (
          <textarea
            className="input"
            rows={6}
            value={text}
            onChange={(event) => change(path, event.target.value === "" ? undefined : event.target.value)}
            {...control}
          />
        )}
      </Field>
      <div className="row">
        <button
          type="button"
          className="button button-small"
          aria-expanded={isShown}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? "Hide preview" : "Preview"}
        </button>
        <span className="small muted">Markdown</span>
      </div>
      {isShown && (
        <div className="markdown-preview" role="group" aria-label={`Preview of ${label}`}>
          {text === "" ? <p className="muted">Nothing to preview.</p> : <Markdown text={text} />}
        </div>
      )}
    </div>
  );
}
