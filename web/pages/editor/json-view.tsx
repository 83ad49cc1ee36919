import { useId, useState, type JSX } from "react";
import { CodeField } from "../../parts/code/code-field.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { parseFlow, type ParseFault } from "../../flow/parse.ts";
import { useEditor } from "./editor-context.ts";

/** The whole flow as JSON, in step with the canvas both ways. A text that is not JSON leaves the canvas as it is. */
export function JsonView(): JSX.Element {
  const { state, dispatch, isReadOnly } = useEditor();
  const id = useId();
  // What is typed, until it is a flow; then the canvas has it.
  const [typed, setTyped] = useState<{ readonly text: string; readonly fault: ParseFault | null } | null>(null);
  const text = typed?.text ?? JSON.stringify(state.document, null, 2);
  const fault = typed?.fault ?? null;
  const take = (next: string): void => {
    const parsed = parseFlow(next);
    setTyped({ text: next, fault: "fault" in parsed ? parsed : null });
    if ("document" in parsed)
      dispatch({ type: "do", group: "json", command: { type: "replaceDocument", document: parsed.document } });
  };
  return (
    <>
      <div
        className="field json-text"
        onBlur={({ currentTarget, relatedTarget }) => {
          if (!currentTarget.contains(relatedTarget)) setTyped((last) => (last?.fault == null ? null : last));
        }}
      >
        <span className="label">Flow</span>
        <CodeField
          language="json"
          label="Flow"
          value={text}
          onChange={take}
          describedBy={fault === null ? `${id}-hint` : `${id}-hint ${id}-error`}
          isInvalid={fault !== null}
          problems={fault === null ? [] : [{ message: fault.fault, severity: "error", line: fault.line ?? undefined }]}
          readOnly={isReadOnly}
          minLines={20}
          hasLineNumbers
        />
        <span id={`${id}-hint`} className="small muted">
          Changes here are on the canvas at once, and the other way round.
        </span>
        {fault !== null && (
          <span id={`${id}-error`} className="small field-error" role="alert">
            {fault.fault} The canvas keeps the last valid flow.
          </span>
        )}
      </div>
      <div className="row">
        <CopyButton text={text} label="flow as JSON">
          Copy
        </CopyButton>
        {fault !== null && (
          <button type="button" className="button button-small" onClick={() => setTyped(null)}>
            Discard what was typed
          </button>
        )}
      </div>
    </>
  );
}
