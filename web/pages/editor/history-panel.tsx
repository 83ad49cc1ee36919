import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { draftStepsOptions, readDraftStep, type DraftStep } from "../../api/flows.ts";
import { toProblem } from "../../api/problem.ts";
import type { FlowDocument } from "../../flow/document.ts";
import { announce } from "../../parts/announce.tsx";
import { Diff } from "../../parts/diff/diff.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useEditor } from "./editor-context.ts";
import { readFlow } from "./flow-text.ts";

/** What the draft was today: each step can be compared with the flow as it is now, and restored. */
export function HistoryPanel(): JSX.Element {
  const { projectId, dispatch, isReadOnly, state } = useEditor();
  const steps = useQuery({ ...draftStepsOptions(projectId), refetchOnMount: "always" });
  const [shown, setShown] = useState<{ readonly revision: number; readonly flow: FlowDocument } | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const open = async ({ revision }: DraftStep): Promise<void> => {
    try {
      const text = await readDraftStep(projectId, revision);
      setFault(null);
      setShown(text === null ? null : { revision, flow: readFlow(text) });
    } catch (error) {
      setFault(error);
    }
  };
  if (steps.error) return <Failure fault={toProblem(steps.error)} retry={() => void steps.refetch()} />;
  if (!steps.data) return <Loading what="the history" rows={4} />;
  if (steps.data.data.length === 0)
    return <Empty title="No steps yet">Each saved change is a step here, for a day.</Empty>;
  return (
    <>
      <p className="small muted">Each saved change, for a day. Restoring is a change too: Undo takes it back.</p>
      {fault !== null && <Failure fault={toProblem(fault)} />}
      <ul className="steps" aria-label="Steps of the draft">
        {steps.data.data.map((step) => (
          <li key={step.revision}>
            <span>
              <span>
                {step.published_as !== null
                  ? `Published as version ${step.published_as}`
                  : step.ended
                    ? "Draft deleted"
                    : `Step ${step.revision}`}
              </span>
              <span className="small muted wrap">
                {step.changed_by_name ?? "Someone"}, <Time at={step.changed_at} />
              </span>
            </span>
            {!step.ended && step.published_as === null && (
              <button
                type="button"
                className="button button-small"
                data-row
                aria-expanded={shown?.revision === step.revision}
                onClick={() => (shown?.revision === step.revision ? setShown(null) : void open(step))}
              >
                Compare
              </button>
            )}
            {shown?.revision === step.revision && (
              <div className="stack-tight steps-shown">
                <Diff before={shown.flow} after={state.document} label={`Changes since step ${step.revision}`} />
                {!isReadOnly && (
                  <button
                    type="button"
                    className="button"
                    onClick={() => {
                      dispatch({ type: "do", command: { type: "replaceDocument", document: shown.flow } });
                      setShown(null);
                      announce(`Step ${step.revision} is restored`);
                    }}
                  >
                    Restore step {step.revision}
                  </button>
                )}
              </div>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
