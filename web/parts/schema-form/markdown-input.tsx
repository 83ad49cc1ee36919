import { useState } from "react";
import type { JSX } from "react";
import { Field } from "../field.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { fieldOf } from "./schema.ts";
import type { PartProps } from "./schema.ts";

/** A text of Markdown, and what it looks like. */
export function MarkdownInput(props: PartProps): JSX.Element {
  const { value, onChange, label } = props;
  const [isShown, setShown] = useState(false);
  const text = typeof value === "string" ? value : "";
  return (
    <div className="stack-tight">
      <Field {...fieldOf(props)}>
        {(control) => (
          <textarea
            className="input"
            rows={6}
            value={text}
            onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
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
          {text === "" ? <p className="muted">Nothing yet.</p> : <Markdown text={text} />}
        </div>
      )}
    </div>
  );
}
