import { Suspense, lazy, useId, type JSX } from "react";
import type { JsonTextProps } from "../../../parts/schema-form/form-context.ts";
import { Errors } from "../../../parts/schema-form/frame.tsx";
import { useNodeForm } from "./panel-context.ts";

const CodeField = lazy(async () => ({ default: (await import("../../../parts/code/code-field.tsx")).CodeField }));

const MOST_LINES = 16;

/** A value as JSON, highlighted. Undo keys undo the text, because a text that is not valid is not in the flow. */
export function JsonText({ label, hint, errors, text, onChange }: JsonTextProps): JSX.Element {
  const { isReadOnly } = useNodeForm();
  const id = useId();
  const described = [hint === undefined ? "" : `${id}-hint`, errors.length === 0 ? "" : `${id}-error`];
  return (
    <div className="field expression">
      <div className="field-head">
        <span className="label">{label}</span>
        <span className="small muted">JSON</span>
      </div>
      <Suspense fallback={<textarea className="input mono" rows={4} aria-label={label} readOnly value={text} />}>
        <CodeField
          language="json"
          label={label}
          value={text}
          onChange={onChange}
          describedBy={described.join(" ").trim() || undefined}
          isInvalid={errors.length > 0}
          problems={errors.map((message) => ({ message, severity: "error" }))}
          readOnly={isReadOnly}
          minLines={Math.min(MOST_LINES, Math.max(4, text.split("\n", MOST_LINES).length))}
        />
      </Suspense>
      {hint !== undefined && (
        <span id={`${id}-hint`} className="small muted wrap">
          {hint}
        </span>
      )}
      {errors.length > 0 && (
        <span id={`${id}-error`}>
          <Errors errors={errors} />
        </span>
      )}
    </div>
  );
}
