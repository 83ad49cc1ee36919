import { useState, type JSX } from "react";
import { Json } from "./controls.tsx";
import { useForm, type ControlProps } from "./form-context.ts";

/** Levels of a value that are shown as fields at first; a deeper value is easier to read as JSON. */
const SHOWN_DEPTH = 2;

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value).slice(0, 100).map(depthOf);
  return 1 + Math.max(0, ...inner);
}

/** A value of any shape, as fields or as JSON. */
export function Free(props: ControlProps & { readonly fields: JSX.Element }): JSX.Element {
  const { label, value, fields } = props;
  const [isText, setText] = useState(() => depthOf(value) > SHOWN_DEPTH);
  return (
    <div className="form-free">
      <button
        type="button"
        className="button button-quiet button-small form-switch"
        aria-pressed={isText}
        aria-label={`Edit ${label} as JSON`}
        onClick={() => setText(!isText)}
      >
        JSON
      </button>
      {isText ? <Json {...props} /> : fields}
    </div>
  );
}

/** A value that can be a template instead, because its type is known only when the node runs. */
export function Templated(props: ControlProps & { readonly control: JSX.Element }): JSX.Element {
  const { Code } = useForm();
  const { label, value, change, path, control } = props;
  const [isChosen, setChosen] = useState(false);
  const isTemplate = typeof value === "string" && /\{[{%]/.test(value);
  if (Code === undefined) return control;
  const isShown = isTemplate || (isChosen && (value === undefined || typeof value === "string"));
  return (
    <div className="form-free">
      <button
        type="button"
        className="button button-quiet button-small form-switch"
        aria-pressed={isShown}
        aria-label={`Write ${label} as a template`}
        onClick={() => {
          setChosen(!isShown);
          if (value !== undefined) change(path, undefined);
        }}
      >
        {"{{ }}"}
      </button>
      {isShown ? <Code {...props} /> : control}
    </div>
  );
}
