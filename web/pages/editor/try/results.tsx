import { useMutation } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link } from "react-router";
import { toProblem } from "../../../api/problem.ts";
import { cancelRun, isTerminal, type NodeRun, type RunWithNodes } from "../../../api/runs.ts";
import { links } from "../../../links.ts";
import { Diff } from "../../../parts/diff/diff.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Failure, Notice } from "../../../parts/states.tsx";
import { Status } from "../../../parts/status.tsx";
import { Elapsed, Time } from "../../../parts/time.tsx";
import { Value } from "../../../parts/value.tsx";
import { DatasetDialog } from "../../dataset-dialog.tsx";
import { useEditor } from "../editor-context.ts";
import { SaveExample } from "./examples.tsx";
import type { Entered } from "./kept-inputs.ts";
import { NodeResults } from "./node-results.tsx";
import { PauseHere } from "../../pause-here.tsx";
import { documentPath } from "./shown-values.ts";
import { sessionOf, useTries, type Try } from "./session.ts";

/** The newest try: its state, approvals, outputs, and what differs from the try before. */
export function Results({ entered }: { readonly entered: Entered }): JSX.Element | null {
  const { setValues } = useEditor();
  const { current, before, failure } = useTries(sessionOf(setValues));
  if (current === null) return null;
  const { run } = current;
  return (
    <section className="stack try-results" aria-label="Result">
      <Head current={current} />
      {failure && <Failure fault={failure} />}
      {run && (
        <>
          {run.pauses
            .filter(({ status }) => status === "waiting")
            .map(({ pause_id }) => (
              <PauseHere key={pause_id} pauseId={pause_id} />
            ))}
          <Trouble run={run} />
          <Outputs current={current} run={run} />
          {before?.run && isTerminal(run.state) && (
            <details className="try-more">
              <summary>Differences from the try before</summary>
              <Diff
                before={resultOf(before, before.run)}
                after={resultOf(current, run)}
                label="Differences from the try before"
              />
            </details>
          )}
          <NodeResults run={run} />
          {isTerminal(run.state) && !current.isPast && <Keep run={run} entered={entered} />}
        </>
      )}
    </section>
  );
}

function Head({ current }: { readonly current: Try }): JSX.Element {
  const { runId, run, isPast, until } = current;
  const cancel = useMutation({ mutationFn: cancelRun });
  const isOpen = !isPast && (run === null || !isTerminal(run.state));
  return (
    <>
      <div className="spread">
        <div className="row" role="status">
          <Status state={run?.state ?? "PENDING"} />
          {run && !isPast && (
            <span className="small muted">
              <Elapsed from={run.started_at} to={run.finished_at} />
            </span>
          )}
          {until !== null && <span className="small muted wrap">until {until}</span>}
          {isPast && run && (
            <span className="small muted">
              run of <Time at={run.created_at} />
            </span>
          )}
        </div>
        <div className="row">
          {isOpen && (
            <button
              type="button"
              className="button button-small button-danger"
              disabled={cancel.isPending || cancel.isSuccess}
              onClick={() => cancel.mutate({ run_id: runId, mode: "graceful" })}
            >
              <Icon name="stop" /> {cancel.isSuccess ? "Cancelling…" : "Cancel run"}
            </button>
          )}
          <Link className="button button-quiet button-small" to={links.run(runId)}>
            <Icon name="open" /> Open run
          </Link>
        </div>
      </div>
      {cancel.error && <Failure fault={toProblem(cancel.error)} />}
    </>
  );
}

/** The error of a failed run, with the way to its node. */
function Trouble({ run: { error, state, state_reason } }: { readonly run: RunWithNodes }): JSX.Element | null {
  const { goTo } = useEditor();
  if (error === null)
    return state === "CANCELLED" && state_reason !== null ? <Notice tone="info">{state_reason}</Notice> : null;
  const { path, message, hint, code } = error;
  return (
    <Notice tone="bad">
      <div className="stack-tight wrap">
        <span>
          {message} <code>{code}</code>
        </span>
        {hint !== null && <span>How to fix: {hint}</span>}
        {path !== null && (
          <span>
            <button type="button" className="button button-small" onClick={() => goTo(documentPath(path))}>
              Go to {error.node_name ?? path}
            </button>
          </span>
        )}
      </div>
    </Notice>
  );
}

/** The outputs of the run, and the value of the node that it went up to. */
function resultOf({ until }: Try, { outputs, nodes = [] }: RunWithNodes): Record<string, unknown> {
  const wanted = until === null ? undefined : nodes.findLast(({ path }) => documentPath(path) === until);
  const shown = Object.entries(outputs ?? {}).filter(([id, value]) => value !== null || isExecuted(nodes, id));
  return Object.fromEntries([...(wanted ? [[wanted.path, wanted.output] as const] : []), ...shown]);
}

const isExecuted = (nodes: readonly NodeRun[], id: string): boolean =>
  nodes.some(({ path, state }) => path === id && state === "COMPLETED");

function Outputs({ current, run }: { readonly current: Try; readonly run: RunWithNodes }): JSX.Element | null {
  const results = Object.entries(resultOf(current, run));
  if (results.length === 0) return null;
  return (
    <>
      {results.map(([id, value]) => (
        <div key={id} className="stack-tight">
          <h3>{id}</h3>
          <Value value={value} label={`Value of ${id}`} />
        </div>
      ))}
    </>
  );
}

/** Keeps what was tried: as an example of the flow, or as a row of a dataset. */
function Keep({ run, entered }: { readonly run: RunWithNodes; readonly entered: Entered }): JSX.Element {
  const { isReadOnly } = useEditor();
  const [open, setOpen] = useState<"example" | "dataset" | null>(null);
  const close = (): void => setOpen(null);
  if (open === "example") return <SaveExample entered={entered} onDone={close} />;
  return (
    <div className="row">
      {!isReadOnly && (
        <button type="button" className="button button-small" onClick={() => setOpen("example")}>
          <Icon name="plus" /> Save as example…
        </button>
      )}
      <button type="button" className="button button-small" onClick={() => setOpen("dataset")}>
        <Icon name="plus" /> Save as dataset row…
      </button>
      {open === "dataset" && <DatasetDialog run={run} onClose={close} />}
    </div>
  );
}
