import { useState, type JSX } from "react";
import { edgeKey, edgesOf, graphAt, handleOf, nodeAt, nodesOf } from "../../../flow/access.ts";
import type { FlowEdge } from "../../../flow/document.ts";
import { targetsFor } from "../../../flow/fits.ts";
import { handlesOf } from "../../../flow/kinds.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { Field } from "../../../parts/field.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Empty } from "../../../parts/states.tsx";
import { useEditor } from "../editor-context.ts";
import { edgeId, splitPath } from "./graph-view.ts";
import { handleText } from "./step-node.tsx";
import { titleOf } from "./step-text.ts";
import type { Edits } from "./use-canvas-edits.ts";

/** Connects a node without a pointer: lists where its edges lead, and where another one can lead. */
export function ConnectDialog({
  path,
  edits,
  onClose,
}: {
  readonly path: string;
  readonly edits: Edits;
  readonly onClose: () => void;
}): JSX.Element | null {
  const { state, kinds, kindOf } = useEditor();
  const { scope, id } = splitPath(path);
  const { document } = state;
  const node = nodeAt(document, scope, id);
  const handles = node ? handlesOf(kindOf(node.type), node) : [];
  const [chosenHandle, setHandle] = useState<string | null>(null);
  const [chosenTarget, setTarget] = useState<string | null>(null);
  if (!node) return null;
  const graph = graphAt(document, scope);
  const handle = chosenHandle !== null && handles.includes(chosenHandle) ? chosenHandle : (handles[0] ?? "out");
  const edgeTo = (target: string): FlowEdge => ({
    source: id,
    ...(handle !== "out" && { source_handle: handle }),
    target,
  });
  const fitting = targetsFor(document, scope, id, handle, kinds);
  const targets = nodesOf(graph).filter((each) => fitting.has(each.id));
  const target = targets.find((each) => each.id === chosenTarget) ?? targets[0];
  const leaving = edgesOf(graph).filter((edge) => edge.source === id);
  const name = titleOf(node, kindOf(node.type));
  const nameOf = (of: string): string => {
    const found = nodeAt(document, scope, of);
    return found ? `${titleOf(found, kindOf(found.type))} (${of})` : of;
  };
  return (
    <Dialog title={`Connect ${name}`} onClose={onClose}>
      {leaving.length > 0 && (
        <ul className="connect-edges" aria-label="Edges from this node">
          {leaving.map((edge) => (
            <li key={edgeKey(edge)} className="spread">
              <span className="wrap">
                {handles.length > 1 && <span className="muted">{handleText(handleOf(edge))} </span>}→{" "}
                {nameOf(edge.target)}
              </span>
              <button
                type="button"
                className="button button-small"
                aria-label={`Delete edge to ${nameOf(edge.target)}`}
                onClick={() => edits.removeEdge(edgeId(scope, edge))}
              >
                <Icon name="cross" /> Delete
              </button>
            </li>
          ))}
        </ul>
      )}
      {target === undefined ? (
        <Empty title="Nothing to connect to">
          Every other node is connected already, or an edge to it would form a cycle.
        </Empty>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            if (edits.tryConnect(scope, edgeTo(target.id))) onClose();
          }}
        >
          {handles.length > 1 && (
            <Field label="Handle">
              {(control) => (
                <select
                  {...control}
                  className="input"
                  value={handle}
                  data-first
                  onChange={(event) => setHandle(event.target.value)}
                >
                  {handles.map((each) => (
                    <option key={each} value={each}>
                      {handleText(each)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          <Field label="To">
            {(control) => (
              <select
                {...control}
                className="input"
                value={target.id}
                {...(handles.length <= 1 && { "data-first": true })}
                onChange={(event) => setTarget(event.target.value)}
              >
                {targets.map((each) => (
                  <option key={each.id} value={each.id}>
                    {nameOf(each.id)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <div className="row">
            <button type="submit" className="button button-primary">
              Connect
            </button>
            <button type="button" className="button" onClick={onClose}>
              Close
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
