import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useNavigate } from "react-router";
import { ask, conversationRunsOptions, nameConversation, titleOf, type Target } from "../../api/conversations.ts";
import { useIntent } from "../../api/intent.ts";
import { toProblem } from "../../api/problem.ts";
import { cancelRun, isTerminal, useRunAction, type Run } from "../../api/runs.ts";
import { Composer } from "../../chat/composer.tsx";
import { Files } from "../../chat/files.tsx";
import { Turn } from "../../chat/turn.tsx";
import { useFollowEnd } from "../../chat/use-follow-end.ts";
import type { ChatFlow } from "../../flow/chat-flow.ts";
import { MoreButton } from "../../parts/more-button.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { OtherInputs } from "./other-inputs.tsx";
import { RunTurn } from "./run-turn.tsx";
import { useChatFiles } from "./use-chat-files.ts";

/** The conversation that is shown. */
interface Shown {
  readonly id: string;
  /** User ID of its runs. */
  readonly user_id: string;
  /** Whether it has no run yet. */
  readonly isNew: boolean;
}

/** The questions and answers of a conversation, and the field for the next question. */
export function Conversation({
  projectId,
  name,
  flow,
  target,
  conversation,
  to,
  onPassage,
  mayRun,
}: {
  readonly projectId: string;
  readonly name: string;
  readonly flow: ChatFlow;
  readonly target: Target;
  readonly conversation: Shown;
  /** Address of the conversation once it has started. */
  readonly to: string;
  readonly onPassage: (place: string) => void;
  readonly mayRun: boolean;
}): JSX.Element {
  const { user_id, isNew } = conversation;
  const client = useQueryClient();
  const navigate = useNavigate();
  const [hasStarted, setStarted] = useState(!isNew);
  const runs = useInfiniteQuery({ ...conversationRunsOptions(projectId, user_id), enabled: hasStarted || !isNew });
  const [text, setText] = useState("");
  const [others, setOthers] = useState<Readonly<Record<string, string>>>({});
  const files = useChatFiles({ projectId, user_id, inputs: flow.documents, isDraft: "draft" in target });
  const intent = useIntent();
  const stop = useRunAction(cancelRun);

  const begin = (): void => {
    if (!isNew || hasStarted) return;
    setStarted(true);
    void navigate(to, { replace: true });
  };
  const send = useMutation({
    mutationFn: async ({ question, isFirst }: { question: string; isFirst: boolean }) => {
      const given = Object.entries(others).filter(([, value]) => value !== "");
      const inputs = { ...Object.fromEntries(given), [flow.input.id]: question };
      // What was sent before tells two equal questions in a row apart.
      const key = intent([inputs, target, listed.at(-1)?.run_id ?? null]);
      const run = await ask({ project_id: projectId, user_id, inputs, target, key });
      // The answer does not wait for its title, which a later rename can set too.
      if (isFirst)
        void nameConversation({ project_id: projectId, user_id, title: titleOf(question) })
          .catch(() => undefined)
          .then(() => client.invalidateQueries({ queryKey: ["conversations", "list"] }));
      return run;
    },
    onSuccess: (run) => {
      setText("");
      client.setQueryData(conversationRunsOptions(projectId, user_id).queryKey, (known) => {
        const [first, ...rest] = known?.pages ?? [];
        const page = { ...(first ?? { cursor: null, has_more: false }), data: [run, ...(first?.data ?? [])] };
        return { pages: [page, ...rest], pageParams: known?.pageParams ?? [null] };
      });
      begin();
    },
  });

  // The same run may be on two pages if a run began between reading them.
  const byId = new Map<string, Run>(runs.data?.pages.flatMap(({ data }) => data.map((run) => [run.run_id, run])));
  const listed = [...byId.values()].toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1));
  // The title of a conversation whose runs are not read yet is left alone.
  const isFirst = listed.length === 0 && (runs.data !== undefined || (isNew && !hasStarted));
  const [states, setStates] = useState<Readonly<Record<string, Run["state"]>>>({});
  const open = listed.findLast((run) => !isTerminal(states[run.run_id] ?? run.state));
  const question = send.isPending ? send.variables.question : null;
  const end = useFollowEnd(`${listed.at(-1)?.run_id} ${send.isPending}`);
  return (
    <section className="chat-main" aria-label="Conversation">
      <div className="chat-scroll" ref={end} role="region" aria-label="Messages" tabIndex={0}>
        <div>
          {runs.hasNextPage && (
            <div className="row chat-earlier">
              <MoreButton pages={runs}>Earlier messages</MoreButton>
            </div>
          )}
          {runs.isLoading && <Loading what="the conversation" rows={3} />}
          {runs.error && <Failure fault={toProblem(runs.error)} retry={() => void runs.refetch()} />}
          {listed.length === 0 && question === null && !runs.isLoading && (
            <div className="chat-welcome">
              <h2>{name}</h2>
              <p className="muted">{flow.input.hint ?? "Ask something to begin a conversation."}</p>
            </div>
          )}
          <ol className="chat-turns">
            {listed.map((run) => (
              <RunTurn
                key={run.run_id}
                run={run}
                name={name}
                flow={flow}
                onPassage={onPassage}
                mayRate={mayRun}
                onState={(state) =>
                  setStates((known) => (known[run.run_id] === state ? known : { ...known, [run.run_id]: state }))
                }
              />
            ))}
            {question !== null && (
              <Turn
                assistant={name}
                turn={{ id: "new", question, answer: "", state: "starting", failure: null, sources: [] }}
              />
            )}
          </ol>
        </div>
      </div>
      <Composer
        value={question === null ? text : ""}
        onChange={setText}
        onSend={() => send.mutate({ question: text, isFirst })}
        isBusy={open !== undefined || send.isPending}
        isStopping={stop.isPending || (stop.isSuccess && stop.variables?.run_id === open?.run_id)}
        onStop={() => open && stop.mutate({ run_id: open.run_id, mode: "graceful" })}
        placeholder={`Message ${name}`}
        maxLength={flow.input.maxLength}
        accept={files.accept}
        onFiles={
          files.mayUpload && mayRun
            ? (chosen) => {
                begin();
                files.upload(chosen);
              }
            : undefined
        }
        closed={mayRun ? null : "Your role can read this conversation but not run the flow."}
      >
        {flow.others.length > 0 && mayRun && (
          <OtherInputs fields={flow.others} values={others} onChange={setOthers} problem={send.error} />
        )}
        <Files files={files.listed} onRemove={files.remove} />
        {files.error && <Failure fault={toProblem(files.error)} />}
        {send.error && <Failure fault={toProblem(send.error)} />}
        {stop.error && <Failure fault={toProblem(stop.error)} />}
      </Composer>
    </section>
  );
}
