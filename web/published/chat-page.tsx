import { memo, useEffect, useState, type JSX } from "react";
import { ApiProblem } from "../api/problem.ts";
import { Composer } from "../chat/composer.tsx";
import { Rating } from "../chat/rating.tsx";
import { Turn as ShownTurn, type TurnState } from "../chat/turn.tsx";
import { useFollowEnd } from "../chat/use-follow-end.ts";
import { Icon } from "../parts/icons.tsx";
import { completed, initialData } from "../parts/schema-form/data.ts";
import { useFormState } from "../parts/schema-form/form-state.ts";
import { SchemaForm } from "../parts/schema-form/schema-form.tsx";
import { drawSourceOf, sourcesOf } from "./answer.tsx";
import { sayError, type PageApi } from "./api.ts";
import { ChatFiles } from "./chat-files.tsx";
import { Conversations } from "./conversations.tsx";
import { isSettled } from "./follow-run.ts";
import { errorsBelow, NO_ERRORS } from "./form-errors.ts";
import { formSchema, missingFiles, valuesOf } from "./inputs.ts";
import { placeIn } from "./place.ts";
import { Questions } from "./questions.tsx";
import { Working } from "./result.tsx";
import { Runs } from "./runs.ts";
import type { PageView, RunState } from "./shapes.ts";
import { useValue } from "./state.ts";
import { Top } from "./top.tsx";
import { acceptOf, failureOf, type Turn } from "./turn.ts";
import { inputFor, Uploads } from "./uploads.ts";

const DEFAULT_TITLE_CHARS = 200;
const STATES: Readonly<Record<RunState, TurnState>> = {
  PENDING: "starting",
  RUNNING: "writing",
  RESUMED: "writing",
  PAUSED: "paused",
  COMPLETED: "complete",
  FAILED: "failed",
  CANCELLED: "stopped",
};

/** A conversation with a flow. */
export function ChatPage({
  api,
  view,
  isKept,
}: {
  readonly api: PageApi;
  readonly view: PageView;
  readonly isKept: () => boolean;
}): JSX.Element {
  const { input = "", output = "" } = view.chat ?? {};
  const documents = view.documents ?? [];
  const [runs] = useState(() => new Runs(api, input));
  const { turns, conversation, isConnected, error } = useValue(runs.state);
  const [uploads] = useState(() => new Uploads(api, runs));
  const [text, setText] = useState("");
  const [isListed, setListed] = useState(false);
  const [stopping, setStopping] = useState<string>();
  const schema = formSchema(view);
  const options = useFormState(() => initialData(schema) ?? {});
  const last = turns.at(-1);
  const isBusy = last !== undefined && !isSettled(last.state);
  const end = useFollowEnd(last?.key ?? "");

  useEffect(() => {
    const id = placeIn("conversation");
    if (id !== null && api.isKnown) void openConversation(id, runs, uploads, view.documents);
    return () => runs.leave();
  }, [api, runs, uploads, view]);
  const begin = (): void => {
    uploads.clear();
    runs.begin();
  };
  const stop = (): void => {
    if (last === undefined) return;
    setStopping(last.key);
    void runs.stop(last);
  };
  const attach = (files: readonly File[]): void => {
    for (const each of documents) {
      const chosen = files.filter((file) => inputFor(documents, file) === each);
      if (chosen.length > 0) void uploads.add(each, chosen);
    }
  };
  const send = async (): Promise<void> => {
    const { files } = uploads.state.get();
    if (uploads.isUploading) return runs.refuse("Wait until the files are uploaded, then send the message.");
    if (missingFiles(view, files).length > 0) return runs.refuse("Attach a file first.");
    const asked = text.trim();
    const inputs = { ...(completed(schema, options.value) as object), ...valuesOf(documents, files), [input]: asked };
    setText("");
    uploads.sent(documents);
    const isSent = await runs.send(asked, inputs);
    // Nothing that was written is lost, unless something else was written meanwhile.
    if (!isSent) setText((now) => (now === "" ? asked : now));
  };
  return (
    <div className="chat">
      <Top look={view.look}>
        <div className="row">
          <TopButton icon="menu" name="Conversations" onClick={() => setListed(true)} />
          <TopButton icon="pencil" name="New conversation" onClick={begin} disabled={turns.length === 0} />
        </div>
      </Top>
      <main ref={end} className="chat-messages" tabIndex={0} aria-label="Conversation">
        <div>
          <p className="welcome">{view.look.welcome ?? (turns.length === 0 ? "Write a message to begin." : "")}</p>
          <h2 className="visually-hidden">Messages</h2>
          <ol className="chat-turns">
            {turns.map((turn) => (
              <Shown
                key={turn.key}
                turn={turn}
                runs={runs}
                isConnected={isConnected}
                output={output}
                assistant={view.look.name}
              />
            ))}
          </ol>
        </div>
      </main>
      <footer className="chat-foot">
        {Object.keys(schema.properties).length > 0 && (
          <details className="chat-options" open={schema.required.length > 0 && turns.length === 0}>
            <summary>More details</summary>
            <SchemaForm
              schema={schema}
              value={options.value}
              onChange={options.change}
              errors={error instanceof ApiProblem ? errorsBelow(error, "inputs") : NO_ERRORS}
            />
          </details>
        )}
        <Composer
          value={text}
          onChange={setText}
          onSend={() => void send()}
          isBusy={isBusy}
          isStopping={stopping === last?.key}
          onStop={stop}
          placeholder="Write a message"
          accept={documents.length === 1 ? documents.map(acceptOf)[0] : undefined}
          onFiles={documents.length === 0 ? undefined : attach}
        >
          {error !== null && (
            <p className="notice notice-bad" role="alert">
              {sayError(error)}
            </p>
          )}
          <ChatFiles documents={documents} uploads={uploads} />
        </Composer>
        {!isKept() && (
          <p className="muted small">
            Your browser does not let this page remember you: a reload begins a new conversation.
          </p>
        )}
      </footer>
      {isListed && (
        <Conversations
          api={api}
          current={conversation}
          titleChars={view.limits?.title_chars ?? DEFAULT_TITLE_CHARS}
          onOpen={(id) => {
            setListed(false);
            void openConversation(id, runs, uploads, view.documents);
          }}
          onRemoved={(id) => {
            if (id === conversation) begin();
          }}
          onClose={() => setListed(false)}
        />
      )}
    </div>
  );
}

async function openConversation(
  id: string,
  runs: Runs,
  uploads: Uploads,
  documents: PageView["documents"],
): Promise<void> {
  await runs.openConversation(id);
  await uploads.load(documents ?? [], id);
}

/** Drawn again only if its own turn changes, however long the conversation is. */
const Shown = memo(function Shown({
  turn,
  runs,
  isConnected,
  output,
  assistant,
}: {
  readonly turn: Turn;
  readonly runs: Runs;
  readonly isConnected: boolean;
  /** The output that is the answer. */
  readonly output: string;
  readonly assistant: string;
}): JSX.Element {
  const { state, citations, pauses, vote } = turn;
  const value = turn.outputs[output] ?? "";
  const answer = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const shown = {
    id: turn.key,
    question: turn.asked,
    answer: answer === "" && state === "COMPLETED" ? "There is no answer to this." : answer,
    state: STATES[state],
    failure: failureOf(turn),
    sources: sourcesOf(citations),
  };
  return (
    <ShownTurn
      turn={shown}
      assistant={assistant}
      drawSource={drawSourceOf(citations)}
      inside={
        <>
          {state === "PAUSED" && <Questions pauses={pauses} onAnswer={(given) => runs.answer(turn, given)} />}
          {!isSettled(state) && !isConnected && <Working turn={turn} isConnected={false} />}
        </>
      }
      actions={
        state === "COMPLETED" && <Rating rated={vote} isPending={false} onRate={(next) => void runs.vote(turn, next)} />
      }
    />
  );
});

/** A button of the head, which on a phone is only its icon. */
function TopButton({
  icon,
  name,
  onClick,
  disabled = false,
}: {
  readonly icon: "menu" | "pencil";
  readonly name: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
}): JSX.Element {
  return (
    <button type="button" className="button" title={name} disabled={disabled} onClick={onClick}>
      <Icon name={icon} /> <span className="top-word">{name}</span>
    </button>
  );
}
