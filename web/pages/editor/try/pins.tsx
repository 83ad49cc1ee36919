import type { JSX } from "react";
import { nodeAt } from "../../../flow/access.ts";
import type { Json } from "../../../flow/document.ts";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { useEditor } from "../editor-context.ts";
import { preview } from "./shown-values.ts";

/** The pinned values, which the next run uses instead of executing their nodes. */
export function Pins(): JSX.Element | null {
  const { state, pins, setPins, goTo } = useEditor();
  if (pins.size === 0) return null;
  const unpin = (path: string): void => setPins(new Map([...pins].filter(([each]) => each !== path)));
  return (
    <section className="stack-tight" aria-label="Pinned values">
      <div className="spread">
        <h3>Pinned values</h3>
        <button
          type="button"
          className="button button-quiet button-small"
          onClick={() => setPins(new Map<string, Json>())}
        >
          Unpin all
        </button>
      </div>
      <p className="small muted">These nodes are not executed; the next run uses these values.</p>
      <ul className="try-list">
        {[...pins].map(([path, value]) => {
          const isThere = !path.includes("/") && nodeAt(state.document, [], path) !== undefined;
          return (
            <li key={path}>
              <FlowIcon name="pin" />
              <button type="button" className="button button-quiet button-small" onClick={() => goTo(path)}>
                {path}
              </button>
              <span className="small muted try-preview">
                {isThere ? preview(value) : "not used: only nodes at the top level can be pinned"}
              </span>
              <button
                type="button"
                className="button button-quiet button-small"
                aria-label={`Unpin ${path}`}
                onClick={() => unpin(path)}
              >
                <Icon name="cross" />
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
