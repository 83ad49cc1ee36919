import type { JSX } from "react";
import type { NodeRun, RunWithNodes } from "../../../api/runs.ts";
import type { Json } from "../../../flow/document.ts";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Status } from "../../../parts/status.tsx";
import { useEditor } from "../editor-context.ts";
import { wholeValue } from "./request.ts";
import { sessionOf } from "./session.ts";
import { preview } from "./shown-values.ts";

/** The nodes at the top level with their states and values; each value can be pinned for the next try. */
export function NodeResults({ run: { nodes = [] } }: { readonly run: RunWithNodes }): JSX.Element | null {
  const { pins, setPins, goTo, setValues, kindOf } = useEditor();
  const session = sessionOf(setValues);
  const top = nodes.filter(({ path }) => !/[[/]/.test(path));
  if (top.length === 0) return null;
  const pin = async (chosen: readonly NodeRun[]): Promise<void> => {
    const next = new Map(pins);
    for (const { path } of chosen) {
      const known = session.known.get(path);
      const value = await wholeValue(session, path);
      if (known === undefined || value === undefined) continue;
      next.set(path, value);
      session.pinnedFrom.set(path, known.runId);
    }
    setPins(next);
  };
  const unpin = (path: string): void => setPins(new Map([...pins].filter(([each]) => each !== path)));
  const free = top.filter(
    ({ path, state, type }) => state === "COMPLETED" && !pins.has(path) && kindOf(type)?.group !== "outputs",
  );
  return (
    <section className="stack-tight" aria-label="Nodes">
      <div className="spread">
        <h3>Nodes</h3>
        {free.length > 0 && (
          <button type="button" className="button button-quiet button-small" onClick={() => void pin(free)}>
            <FlowIcon name="pin" /> Pin all values
          </button>
        )}
      </div>
      <ul className="try-list">
        {top.map((node) => {
          const { path, state, output } = node;
          const isPinned = pins.has(path);
          return (
            <li key={path}>
              <button type="button" className="button button-quiet button-small" onClick={() => goTo(path)}>
                {path}
              </button>
              <span className="small muted try-preview">
                {state === "COMPLETED" && output != null ? preview(output as Json) : ""}
              </span>
              <Status state={state} />
              <button
                type="button"
                className="button button-quiet button-small"
                aria-pressed={isPinned}
                aria-label={`Pin the value of ${path}`}
                disabled={!isPinned && state !== "COMPLETED"}
                onClick={() => (isPinned ? unpin(path) : void pin([node]))}
              >
                <FlowIcon name="pin" />
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
