import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, type JSX } from "react";
import { Link } from "react-router";
import { rate, ratingsOptions } from "../../api/conversations.ts";
import { useLiveRun } from "../../api/live.ts";
import { useStreamed } from "../../api/live-texts.ts";
import { toProblem } from "../../api/problem.ts";
import { isTerminal, runOptions, type Run, type RunWithNodes } from "../../api/runs.ts";
import { Rating } from "../../chat/rating.tsx";
import { Turn, type ChatSource, type TurnState } from "../../chat/turn.tsx";
import type { ChatFlow } from "../../flow/chat-flow.ts";
import { links } from "../../links.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/states.tsx";
import { Value, isCut } from "../../parts/value.tsx";
import { citedIn, type Cited } from "../cited.ts";
import { PauseHere } from "../pause-here.tsx";
import { Steps } from "./steps.tsx";

/** A question of the conversation and the run that answers it, followed until it finishes. */
export function RunTurn({
  run: listed,
  name,
  flow,
  onPassage,
  onState,
  mayRate,
}: {
  readonly run: Run;
  readonly name: string;
  readonly flow: ChatFlow;
  readonly onPassage: (place: string) => void;
  readonly onState: (state: Run["state"]) => void;
  readonly mayRate: boolean;
}): JSX.Element {
  const { run_id } = listed;
  const wasOver = isTerminal(listed.state);
  const { data, error, refetch } = useQuery({
    ...runOptions(run_id),
    staleTime: wasOver ? Number.POSITIVE_INFINITY : 0,
  });
  const run: Run & Partial<Pick<RunWithNodes, "nodes" | "citations">> = data ?? listed;
  const { state } = run;
  useEffect(() => onState(state), [onState, state]);
  const live = useLiveRun(run_id, { ended: isTerminal(state), depth: 0, keepsTexts: true });
  const streamed = useStreamed(live.texts, flow.output);
  const cited = useMemo(() => citedIn(run.citations ?? []), [run.citations]);
  const byNumber = useMemo(() => new Map(cited.map((each) => [each.number, each])), [cited]);
  const onCite = useCallback(
    (number: number) => {
      const place = byNumber.get(number)?.passage;
      if (place != null) onPassage(place);
    },
    [byNumber, onPassage],
  );
  const written = run.outputs?.[flow.output];
  const answer = answerOf(written) ?? streamed ?? "";
  const others = isTerminal(state)
    ? Object.entries(run.outputs ?? {}).filter(([id, value]) => value !== null && id !== flow.output)
    : [];
  const waiting = run.pauses.filter(({ status }) => status === "waiting");
  return (
    <Turn
      assistant={name}
      turn={{
        id: run_id,
        question: questionOf(run.inputs[flow.input.id]),
        answer,
        state: turnState(run, answer),
        failure: failureOf(run, answer, others.length > 0 || written != null),
        sources: cited,
      }}
      onCite={onCite}
      drawSource={(source) => <SourceLink source={source} byNumber={byNumber} onPassage={onPassage} />}
      between={<Steps run={run} />}
      inside={
        <>
          {written != null && answerOf(written) === null && <Value value={written} label="Answer" />}
          {others.map(([id, value]) => (
            <div key={id} className="stack-tight">
              <span className="small muted">{id}</span>
              <Value value={value} label={`Value of ${id}`} />
            </div>
          ))}
          {waiting.map(({ pause_id }) => (
            <PauseHere key={pause_id} pauseId={pause_id} />
          ))}
          {live.state === "polling" && <p className="small muted">Connection lost. Reconnecting…</p>}
          {error && !data && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
        </>
      }
      actions={isTerminal(state) && <Actions run={run} answer={answer} mayRate={mayRate && state === "COMPLETED"} />}
    />
  );
}

const answerOf = (value: unknown): string | null =>
  typeof value === "string"
    ? value
    : isCut(value)
      ? `${(value as { readonly preview?: string }).preview ?? ""}…`
      : null;

/** The question as text; the API shortens a long one. */
const questionOf = (value: unknown): string => answerOf(value) ?? (value == null ? "" : JSON.stringify(value));

function turnState({ state }: Run, answer: string): TurnState {
  switch (state) {
    case "PENDING":
      return "starting";
    case "RUNNING":
    case "RESUMED":
      return answer === "" ? "starting" : "writing";
    case "PAUSED":
      return "paused";
    case "COMPLETED":
      return "complete";
    case "FAILED":
      return "failed";
    case "CANCELLED":
      return "stopped";
  }
}

function failureOf({ state, error }: Run, answer: string, hasOther: boolean): string | null {
  if (state === "FAILED" && error !== null)
    return [error.message, error.hint].filter((each) => each !== null).join(" ");
  return state === "COMPLETED" && answer === "" && !hasOther ? "The flow finished without an answer." : null;
}

function SourceLink({
  source: { number, title },
  byNumber,
  onPassage,
}: {
  readonly source: ChatSource;
  readonly byNumber: ReadonlyMap<number, Cited>;
  readonly onPassage: (place: string) => void;
}): JSX.Element {
  const place = byNumber.get(number)?.passage ?? null;
  if (place === null) return <span className="wrap">{title}</span>;
  return (
    <button type="button" className="chat-source wrap" onClick={() => onPassage(place)}>
      {title}
    </button>
  );
}

/** Below a finished answer: rate it, copy it, open its run. */
function Actions({
  run: { run_id, project_id },
  answer,
  mayRate,
}: {
  readonly run: Run;
  readonly answer: string;
  readonly mayRate: boolean;
}): JSX.Element {
  const client = useQueryClient();
  const options = ratingsOptions(project_id);
  const { data: ratings } = useQuery({ ...options, enabled: mayRate });
  const rating = useMutation({
    mutationFn: rate,
    onSuccess: (_, { isHelpful }) =>
      client.setQueryData(options.queryKey, (known) => new Map([...(known ?? []), [run_id, isHelpful]])),
  });
  const isHelpful = rating.isPending ? rating.variables.isHelpful : ratings?.get(run_id);
  return (
    <div className="row">
      {mayRate && (
        <Rating
          rated={isHelpful === undefined ? null : isHelpful ? "positive" : "negative"}
          isPending={rating.isPending}
          onRate={(rated) => rating.mutate({ run_id, isHelpful: rated === "positive" })}
        />
      )}
      {answer !== "" && (
        <CopyButton text={answer} label="answer">
          Copy
        </CopyButton>
      )}
      <Link className="button button-quiet button-small" to={links.run(run_id)}>
        <Icon name="open" /> Run
      </Link>
      {rating.error && <Failure fault={toProblem(rating.error)} />}
    </div>
  );
}
