import { useState, type JSX } from "react";
import type { NodeKind } from "../../../api/flows.ts";
import { pathOf } from "../../../flow/access.ts";
import type { FlowNode, Json } from "../../../flow/document.ts";
import { Field } from "../../../parts/field.tsx";
import { Status } from "../../../parts/status.tsx";
import { typedJson } from "../../../parts/typed-json.ts";
import { Value } from "../../../parts/value.tsx";
import { useEditor } from "../editor-context.ts";
import { partsOf } from "./scope-values.ts";
import { ValueTree } from "./value-picker.tsx";

/** What a node returns: the schema of its value, its last value, and the value that tries use instead. */
export function ValueTab({ node, kind }: { readonly node: FlowNode; readonly kind: NodeKind }): JSX.Element {
  const { state, scope, values, pins, setPins } = useEditor();
  const path = pathOf([...state.scope, node.id]);
  const shown = values.get(path);
  const pinned = pins.get(path);
  const isPinned = pins.has(path);
  const [isTyping, setTyping] = useState(false);
  const found = scope?.values.find((value) => value.kind === "node" && value.node_path === path);
  const schema: Readonly<Record<string, unknown>> = found?.schema ?? kind.output;
  const last = shown?.value;
  const root = {
    key: path,
    name: node.id,
    liquid: node.id,
    cel: `nodes["${node.id}"]`,
    type: "",
    hasLast: last !== undefined,
    last,
    schema,
  };
  const parts = partsOf(root);
  const pin = (value: Json | undefined): void => {
    setPins(
      value === undefined ? new Map([...pins].filter(([each]) => each !== path)) : new Map([...pins, [path, value]]),
    );
    setTyping(false);
  };
  return (
    <div className="stack">
      <section className="stack-tight" aria-labelledby="last-value">
        <div className="field-head">
          <h3 id="last-value">Last value</h3>
          {shown?.state != null && <Status state={shown.state} />}
        </div>
        {last === undefined ? (
          <p className="small muted">No value yet. Try the flow to see what this node returns.</p>
        ) : (
          <Value value={last} label={`Last value of ${node.name ?? node.id}`} />
        )}
        {shown?.error != null && <p className="small field-error wrap">{shown.error}</p>}
      </section>
      <section className="stack-tight" aria-labelledby="pinned-value">
        <h3 id="pinned-value">Pinned value</h3>
        {isPinned ? (
          <>
            <p className="small muted">Tries use this value and do not execute the node.</p>
            <Value value={pinned} label="Pinned value" />
          </>
        ) : (
          <p className="small muted">
            Not pinned. A pinned value is used by tries in place of executing the node; published flows ignore it.
          </p>
        )}
        <div className="row">
          {last !== undefined && (
            <button type="button" className="button button-small" onClick={() => pin(last)}>
              Pin last value
            </button>
          )}
          <button
            type="button"
            className="button button-small"
            aria-expanded={isTyping}
            onClick={() => setTyping(!isTyping)}
          >
            {isPinned ? "Change pinned value" : "Pin another value"}
          </button>
          {isPinned && (
            <button type="button" className="button button-small" onClick={() => pin(undefined)}>
              Unpin
            </button>
          )}
        </div>
        {isTyping && <TypedPin initial={isPinned ? pinned : last} onPin={pin} />}
      </section>
      <section className="stack-tight" aria-labelledby="output-fields">
        <h3 id="output-fields">Fields of the value</h3>
        {parts.length === 0 ? (
          <p className="small muted">{typeText(schema)}</p>
        ) : (
          <ValueTree values={parts} label="Fields of the value" />
        )}
      </section>
    </div>
  );
}

const typeText = ({ type }: Readonly<Record<string, unknown>>): string =>
  typeof type === "string" ? `The value is of type ${type} and has no fields.` : "Known only after a run.";

/** A value to pin, as JSON. */
function TypedPin({
  initial,
  onPin,
}: {
  readonly initial: Json | undefined;
  readonly onPin: (value: Json) => void;
}): JSX.Element {
  const [text, setText] = useState(initial === undefined ? "" : JSON.stringify(initial, null, 2));
  const [fault, setFault] = useState("");
  return (
    <form
      className="stack-tight"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = typedJson(text);
        if ("fault" in typed) return setFault(typed.fault);
        onPin(typed.value as Json);
      }}
    >
      <Field label="Value (JSON)" errors={fault === "" ? [] : [fault]}>
        {(control) => (
          <textarea
            className="input mono"
            rows={5}
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
            {...control}
          />
        )}
      </Field>
      <div className="row">
        <button type="submit" className="button button-small button-primary">
          Pin value
        </button>
      </div>
    </form>
  );
}
