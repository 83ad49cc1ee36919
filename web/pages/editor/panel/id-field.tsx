import { useState, type JSX } from "react";
import { pathOf } from "../../../flow/access.ts";
import type { FlowNode } from "../../../flow/document.ts";
import { whyNotRename } from "../../../flow/rename.ts";
import { announce } from "../../../parts/announce.tsx";
import { Field } from "../../../parts/field.tsx";
import { useEditor } from "../editor-context.ts";

/** The ID of the selected node. Renaming changes everything in the flow that names the node, as one step. */
export function IdField({ node }: { readonly node: FlowNode }): JSX.Element {
  const { state, kinds, isReadOnly, dispatch, pins, setPins } = useEditor();
  const { document: flow, scope } = state;
  const { id } = node;
  const [to, setTo] = useState(id);
  const isChanged = to !== id;
  const fault = isChanged ? whyNotRename(flow, scope, id, to, kinds) : null;
  const rename = (): void => {
    if (!isChanged || fault !== null) return;
    dispatch({ type: "do", command: { type: "renameNode", scope, id, to } });
    const [from, path] = [pathOf(scope, id), pathOf(scope, to)];
    const moved = (each: string): string =>
      each === from || each.startsWith(`${from}/`) ? path + each.slice(from.length) : each;
    setPins(new Map([...pins].map(([each, value]) => [moved(each), value])));
    announce(`Renamed ${id} to ${to}.`);
    // The panel of the node under its new ID is another one.
    requestAnimationFrame(() => document.querySelector<HTMLElement>(".node-panel input[name=node-id]")?.focus());
  };
  return (
    <form
      className="stack-tight"
      onSubmit={(event) => {
        event.preventDefault();
        rename();
      }}
    >
      <Field
        label="ID"
        {...(isChanged && { hint: "References to the node in this flow change with it." })}
        errors={fault === null ? [] : [fault]}
      >
        {(control) => (
          <input
            className="input mono"
            name="node-id"
            autoComplete="off"
            spellCheck={false}
            readOnly={isReadOnly}
            value={to}
            onChange={(event) => setTo(event.target.value)}
            onKeyDownCapture={(event) => {
              if (event.key !== "Escape" || !isChanged) return;
              // Before the panel takes it to close.
              event.preventDefault();
              setTo(id);
            }}
            {...control}
          />
        )}
      </Field>
      {isChanged && (
        <div className="row">
          <button type="submit" className="button button-small" disabled={fault !== null}>
            Rename
          </button>
          <button type="button" className="button button-quiet button-small" onClick={() => setTo(id)}>
            Keep {id}
          </button>
        </div>
      )}
    </form>
  );
}
