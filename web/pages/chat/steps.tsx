import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link } from "react-router";
import { nodeOptions, type NodeRun, type Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { Icon } from "../../parts/icons.tsx";
import { Status } from "../../parts/status.tsx";
import { Elapsed } from "../../parts/time.tsx";
import { Value } from "../../parts/value.tsx";

/** Kinds of nodes that do something a reader of the answer wants to know of, each with its word. */
const WORDS: Readonly<Partial<Record<NodeRun["type"], string>>> = {
  knowledge: "Search",
  http: "Request",
  action: "Action",
  code: "Code",
  subflow: "Flow",
  url: "Page",
  map: "Each item",
  loop: "Loop",
};
const IS_TOOL = /\/tools\[\d+\]$/;
/** Steps that are listed; the run's page has all. */
const MOST = 50;

const isStep = ({ path, type, state }: NodeRun): boolean =>
  state !== "SKIPPED" && (IS_TOOL.test(path) || (!path.includes("/") && WORDS[type] !== undefined));

/** What the flow did before it answered: searches, tools and calls, folded. */
export function Steps({ run }: { readonly run: Run & { readonly nodes?: readonly NodeRun[] } }): JSX.Element | null {
  const steps = (run.nodes ?? []).filter(isStep);
  const [isOpen, setOpen] = useState(false);
  if (steps.length === 0) return null;
  const current = run.finished_at === null ? steps.findLast(({ finished_at }) => finished_at === null) : undefined;
  return (
    <details className="chat-steps" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="small muted">
        {current
          ? `${wordOf(current)}: ${current.node_id}…`
          : `${steps.length} ${steps.length === 1 ? "step" : "steps"}`}
        {run.finished_at !== null && (
          <>
            {" "}
            in <Elapsed from={run.started_at} to={run.finished_at} />
          </>
        )}
      </summary>
      {isOpen && (
        <ol className="stack-tight">
          {steps.slice(0, MOST).map((step) => (
            <li key={step.path}>
              <Step runId={run.run_id} step={step} />
            </li>
          ))}
          {steps.length > MOST && (
            <li className="small">
              <Link to={links.run(run.run_id)}>All {steps.length.toLocaleString()} steps</Link>
            </li>
          )}
        </ol>
      )}
    </details>
  );
}

const wordOf = ({ path, type }: NodeRun): string => (IS_TOOL.test(path) ? "Tool" : (WORDS[type] ?? type));

function Step({ runId, step }: { readonly runId: string; readonly step: NodeRun }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  // A tool's name is in its inputs.
  const { data } = useQuery({ ...nodeOptions(runId, step.path), enabled: isOpen || IS_TOOL.test(step.path) });
  const { tool, arguments: given, edited } = (data?.inputs ?? {}) as Record<string, unknown>;
  const isTool = typeof tool === "string";
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="small">
        {wordOf(step)}: <strong className="wrap">{isTool ? tool : step.node_id}</strong> <Status state={step.state} />
      </summary>
      {isOpen && data && (
        <div className="stack-tight chat-step">
          {data.error && (
            <p className="small field-error wrap">
              {data.error.message} <code>{data.error.code}</code>
            </p>
          )}
          <span className="small muted">{isTool ? "Arguments" : "Inputs"}</span>
          <Value value={isTool ? (edited ?? given) : data.inputs} label={`Inputs of ${step.path}`} />
          <span className="small muted">Result</span>
          <Value value={data.output} label={`Result of ${step.path}`} />
          <Link className="small" to={links.run(runId, { node: step.path })}>
            <Icon name="open" /> Open in the run
          </Link>
        </div>
      )}
    </details>
  );
}
