import { useCallback, useDeferredValue, useId, type JSX, type ReactNode } from "react";
import { Formatted } from "../parts/markdown/formatted.tsx";
import "./chat.css";

/** How far an answer is. */
export type TurnState = "starting" | "writing" | "paused" | "complete" | "failed" | "stopped";

/** A passage that an answer cites. */
export interface ChatSource {
  /** Its number in the text, written `[3]`. */
  readonly number: number;
  readonly title: string;
  /** Such as "page 3". */
  readonly place: string;
}

/** A question and its answer. */
export interface ChatTurn {
  readonly id: string;
  readonly question: string;
  /** What has been written so far. */
  readonly answer: string;
  readonly state: TurnState;
  /** Why there is no answer, and what to do; only in the state "failed". */
  readonly failure: string | null;
  readonly sources: readonly ChatSource[];
}

const WORDS: Readonly<Partial<Record<TurnState, string>>> = {
  starting: "Thinking…",
  writing: "Writing…",
  stopped: "Stopped.",
};

/**
 * One question and its answer. The parts that depend on who shows it are given: what was done in between, an approval inside, and the
 * buttons below the answer.
 */
export function Turn({
  turn: { question, answer, state, failure, sources },
  assistant,
  between,
  inside,
  actions,
  drawSource,
  onCite,
}: {
  readonly turn: ChatTurn;
  /** Name of who answers. */
  readonly assistant: string;
  readonly between?: ReactNode;
  readonly inside?: ReactNode;
  readonly actions?: ReactNode;
  /** A source in the list below the answer; without it, its title as text. */
  readonly drawSource?: (source: ChatSource) => ReactNode;
  /** Opens a source from its number in the text; without it, the numbers are text. Stays the same while the answer grows. */
  readonly onCite?: (number: number) => void;
}): JSX.Element {
  const known = sources.map(({ number }) => number).join();
  const drawCite = useCallback(
    (number: number): ReactNode =>
      onCite && known.split(",").includes(String(number)) ? (
        <button type="button" className="chat-cite" aria-label={`Source ${number}`} onClick={() => onCite(number)}>
          {number}
        </button>
      ) : null,
    [known, onCite],
  );
  // A browser that is busy draws several pieces of a quick answer at once.
  const text = useDeferredValue(answer);
  return (
    <li className="chat-turn">
      <article className="chat-question" aria-label="You">
        <Question text={question} />
      </article>
      <article className="chat-answer" aria-label={assistant} aria-busy={state === "starting" || state === "writing"}>
        <h2 className="visually-hidden">Answer</h2>
        {between}
        {text !== "" && <Formatted text={text} drawCite={drawCite} />}
        {inside}
        {failure !== null && (
          <p className="chat-failure wrap" role="alert">
            {failure}
          </p>
        )}
        {sources.length > 0 && state !== "writing" && <Sources sources={sources} draw={drawSource} />}
        {WORDS[state] !== undefined && (text === "" || state === "stopped") && (
          <p className={`small muted ${state === "stopped" ? "" : "chat-busy"}`}>{WORDS[state]}</p>
        )}
        {actions}
      </article>
    </li>
  );
}

/** Characters of a question that are shown at first. */
const LONG_QUESTION = 2000;

/** A question as it was typed. */
function Question({ text }: { readonly text: string }): JSX.Element {
  if (text.length <= LONG_QUESTION) return <p className="chat-plain">{text}</p>;
  return (
    <details>
      <summary className="chat-plain">{text.slice(0, LONG_QUESTION)}…</summary>
      <p className="chat-plain">{text.slice(LONG_QUESTION)}</p>
    </details>
  );
}

/** The sources of an answer. */
export function Sources({
  sources,
  draw,
}: {
  readonly sources: readonly ChatSource[];
  /** A source in the list; without it, its title as text. */
  readonly draw?: ((source: ChatSource) => ReactNode) | undefined;
}): JSX.Element {
  const id = useId();
  return (
    <div className="chat-sources">
      <h3 id={id} className="small">
        Sources
      </h3>
      <ol aria-labelledby={id}>
        {sources.map((source) => (
          <li key={source.number} className="small">
            <span className="muted">[{source.number}]</span>{" "}
            {draw?.(source) ?? <span className="wrap">{source.title}</span>}
            {source.place !== "" && <span className="muted nowrap"> {source.place}</span>}
          </li>
        ))}
      </ol>
    </div>
  );
}
