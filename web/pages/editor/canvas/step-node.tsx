import { Handle, Position, type NodeProps } from "@xyflow/react";
import { memo, useContext, type JSX } from "react";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { lookOf } from "../../../parts/status.tsx";
import { CanvasActions } from "./canvas-actions.ts";
import { handleShare } from "./geometry.ts";
import type { StepData, StepNode } from "./graph-view.ts";

/** A node of the flow: its head, and the names of its handles if it has several. A map or loop can hold its flow. */
export const Step = memo(function Step({ data }: NodeProps<StepNode>): JSX.Element {
  const handles = data.handles.split("\n");
  const look = data.state === "" ? null : lookOf(data.state);
  return (
    <div className={`step step-${data.group} ${data.isOpen ? "step-open" : ""} ${data.errors > 0 ? "step-bad" : ""}`}>
      {data.hasInput && <Handle type="target" position={Position.Top} className="port" />}
      <div className="step-head">
        <span className="step-icon">
          <FlowIcon name={data.icon} />
        </span>
        <span className="step-texts">
          <span className="step-title">
            <strong>{data.title}</strong>
            <code>{data.id}</code>
          </span>
          {look === null ? (
            <span className="step-summary">{data.summary}</span>
          ) : (
            <span className={`step-summary step-state tone-${look.tone}`}>
              <Icon name={look.icon} /> {look.word}
              {data.stateNote !== "" && <span className="muted">{data.stateNote}</span>}
            </span>
          )}
        </span>
        {data.isNested && <Openers path={data.path} title={data.title} isOpen={data.isOpen} />}
      </div>
      <Badges data={data} />
      {handles.length > 1 && (
        <ul className="step-handles" aria-hidden="true">
          {handles.map((handle) => (
            <li key={handle} className={handle === "error" ? "step-handle-error" : ""} title={handleText(handle)}>
              {handleText(handle)}
            </li>
          ))}
        </ul>
      )}
      {handles.map((handle, index) => (
        <Handle
          key={handle}
          id={handle}
          type="source"
          position={Position.Bottom}
          className={`port ${handle === "error" ? "port-error" : ""}`}
          style={{ left: `${100 * handleShare(index, handles.length)}%` }}
          title={handle === "out" ? undefined : handleText(handle)}
        />
      ))}
    </div>
  );
});

function Badges({ data }: { readonly data: StepData }): JSX.Element | null {
  const { errors, warnings, problem, isPinned, isLocked, notes } = data;
  if (errors + warnings === 0 && !isPinned && !isLocked && notes === "") return null;
  return (
    <span className="step-badges">
      {notes !== "" && (
        <span className="step-badge" title={notes}>
          <FlowIcon name="note" />
        </span>
      )}
      {isLocked && (
        <span className="step-badge" title="Locked">
          <FlowIcon name="lock" />
        </span>
      )}
      {isPinned && (
        <span className="step-badge step-badge-pin" title="Pinned: a try uses this value instead of running the node">
          <FlowIcon name="pin" />
        </span>
      )}
      {errors + warnings > 0 && (
        <span className={`step-badge ${errors > 0 ? "step-badge-bad" : "step-badge-warn"}`} title={problem}>
          <Icon name="warning" />
          {errors + warnings}
        </span>
      )}
    </span>
  );
}

function Openers({
  path,
  title,
  isOpen,
}: {
  readonly path: string;
  readonly title: string;
  readonly isOpen: boolean;
}): JSX.Element {
  const { toggle, enter } = useContext(CanvasActions);
  return (
    <span className="step-openers nodrag">
      <button
        type="button"
        tabIndex={-1}
        aria-expanded={isOpen}
        aria-label={isOpen ? `Collapse ${title}` : `Show the flow of ${title} here`}
        title={isOpen ? "Collapse" : "Show the flow here"}
        onClick={() => toggle(path)}
      >
        <Icon name="chevron" className={isOpen ? "turned" : ""} />
      </button>
      <button
        type="button"
        tabIndex={-1}
        aria-label={`Open the flow of ${title}`}
        title="Open as a page"
        onClick={() => enter(path)}
      >
        <Icon name="open" />
      </button>
    </span>
  );
}

/** A handle in words: the ID of a case alone, because the node says what it is. */
export const handleText = (handle: string): string => (handle === "out" ? "then" : handle.replace(/^[a-z_]+:/, ""));
