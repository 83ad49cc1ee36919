import type { JSX } from "react";
import { Sources } from "../chat/turn.tsx";
import { drawSourceOf, Output, sourcesOf } from "./answer.tsx";
import { isSettled } from "./follow-run.ts";
import { Questions, type Answering } from "./questions.tsx";
import type { InputsSchema } from "./shapes.ts";
import { failureOf, type Turn } from "./turn.ts";

/** The outputs of a run of a form as far as they are there, and how the run stands. */
export function Result({
  turn,
  outputs,
  isConnected,
  onAnswer,
}: {
  readonly turn: Turn;
  /** The outputs of the flow, with their titles. */
  readonly outputs: NonNullable<InputsSchema["properties"]>;
  readonly isConnected: boolean;
  readonly onAnswer: Answering;
}): JSX.Element {
  const { state, citations, pauses } = turn;
  const ids = Object.keys(outputs);
  const known = ids.filter((id) => turn.outputs[id] !== undefined && turn.outputs[id] !== null);
  const failure = failureOf(turn);
  const isWorking = !isSettled(state);
  return (
    <div className="stack result-body" aria-busy={isWorking}>
      {known.map((id) => (
        <section key={id} className="stack-tight" aria-label={outputs[id]?.title ?? "Answer"}>
          {ids.length > 1 && outputs[id]?.title !== undefined && <h3>{outputs[id].title}</h3>}
          <Output value={turn.outputs[id]} label={outputs[id]?.title ?? "Answer"} />
        </section>
      ))}
      {citations.length > 0 && !isWorking && <Sources sources={sourcesOf(citations)} draw={drawSourceOf(citations)} />}
      {isWorking && <Working turn={turn} isConnected={isConnected} />}
      {state === "PAUSED" && <Questions pauses={pauses} onAnswer={onAnswer} />}
      {failure !== null && (
        <p className="notice notice-bad" role="alert">
          {failure}
        </p>
      )}
      {state === "CANCELLED" && <p className="muted">Stopped.</p>}
      {state === "COMPLETED" && known.length === 0 && <p>Done. There is nothing to show.</p>}
    </div>
  );
}

/** That something is going on, or why nothing comes. */
export function Working({
  turn: { progress },
  isConnected,
}: {
  readonly turn: Turn;
  readonly isConnected: boolean;
}): JSX.Element {
  const step = Math.min(progress.completed + 1, progress.total);
  return (
    <p className="working" role="status">
      {!isConnected
        ? "Connection lost. Trying to reconnect…"
        : step > 1
          ? `Working… step ${step} of ${progress.total}`
          : "Working…"}
    </p>
  );
}
