import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay, useMe, usersOptions } from "../../api/accounts.ts";
import { newIntent } from "../../api/client.ts";
import { pauseOptions, usePauseEvents } from "../../api/pauses.ts";
import type { Pause } from "../../api/pauses.ts";
import { ApiProblem, toProblem } from "../../api/problem.ts";
import { resumeRun, useRunAction } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyButton, CopyCurl, shortId } from "../../parts/copy.tsx";
import { curlOfCall } from "../../parts/curl.ts";
import { Field } from "../../parts/field.tsx";
import { Markdown } from "../../parts/markdown/markdown.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { SchemaForm } from "../../parts/schema-form/schema-form.tsx";
import { unreadable } from "../../parts/schema-form/controls.tsx";
import { completed, initialData, pathKey } from "../../parts/schema-form/schema.ts";
import type { FormErrors, FormSchema } from "../../parts/schema-form/schema.ts";
import { Empty, Failure, Loading, Notice } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { Value } from "../../parts/value.tsx";

/** One pause: what is asked, what it is about, and the decision. */
export function PauseView({ pauseId }: { readonly pauseId: string }): JSX.Element {
  const { data: pause, error, isPending, refetch } = useQuery(pauseOptions(pauseId));
  usePauseEvents(pause);
  if (isPending) return <Loading what="the pause" />;
  if (pause === undefined) {
    if (error instanceof ApiProblem && (error.status === 404 || error.status === 422))
      return (
        <Empty title="There is no such pause" action={<Link to={links.inbox()}>Inbox</Link>}>
          Its run may have been removed, or belong to another organisation.
        </Empty>
      );
    return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  }
  return (
    <article className="panel stack">
      <div className="spread">
        <Status state={pause.status} />
        <div className="row">
          <Link to={links.run(pause.run_id, { node: pause.path })}>Run {shortId(pause.run_id)}</Link>
          <CopyButton text={location.href} label="link to this pause">
            Copy link
          </CopyButton>
        </div>
      </div>
      <Markdown text={pause.message} hasTitle />
      <p className="muted">
        Asked <Time at={pause.created_at} /> at <NodeName name={pause.node_name} path={pause.path} />
        {pause.expires_at !== null && pause.status === "waiting" && (
          <>
            {" "}
            · expires <Time at={pause.expires_at} isPlanned />
          </>
        )}
      </p>
      {pause.data != null && <Value value={pause.data} label="What it is about" />}
      <Asked pause={pause} />
      {pause.status === "waiting" ? (
        <Decision pause={pause} onGone={() => void refetch()} />
      ) : (
        <Outcome pause={pause} />
      )}
    </article>
  );
}

/** Who it was, as far as this person may know. */
function useNameOf(): (by: string | null) => string {
  const me = useMe();
  const isAdmin = useMay("admin");
  const { data: users } = useQuery({ ...usersOptions, enabled: isAdmin });
  return (by) => {
    if (by === null) return "nobody in time";
    const [type, id = ""] = by.split(":");
    if (type !== "user") return `API key ${shortId(id)}`;
    if (id === me.user?.user_id) return "you";
    return users?.data.find(({ user_id }) => user_id === id)?.email ?? `user ${shortId(id)}`;
  };
}

/** Who is asked, and what those have chosen who have answered so far. */
function Asked({ pause }: { readonly pause: Pause }): JSX.Element | null {
  const nameOf = useNameOf();
  const who = useAsked(pause);
  const { received, required_approvals: required, actions } = pause;
  if (pause.status !== "waiting") return who === null ? null : <p className="muted wrap">Asked were {who}.</p>;
  if (required === 1 && who === null) return null;
  const counts = actions
    .map(({ id }) => ({ id, chosen: received.filter(({ action }) => action === id) }))
    .filter(({ chosen }) => chosen.length > 0)
    .map(({ id, chosen }) => {
      const names = chosen.map(({ by }) => nameOf(by)).join(", ");
      return `${labelOf(pause, id)}: ${chosen.length} of ${required} (${names})`;
    });
  return (
    <Notice tone="info">
      <div className="stack-tight wrap">
        {who !== null && <span>May answer: {who}.</span>}
        {required > 1 && (
          <span>
            {required} people have to choose the same; a rejection counts at once.{" "}
            {counts.length === 0 ? "Nobody has answered yet." : `So far ${counts.join("; ")}.`}
          </span>
        )}
      </div>
    </Notice>
  );
}

/** The people who may answer, in words; null for everybody. */
function useAsked({ assignees }: Pause): string | null {
  const me = useMe();
  const nameOf = useNameOf();
  if (assignees === null) return null;
  const people = assignees.users.map((user) =>
    user === me.user?.email.toLowerCase() ? "you" : user.includes("@") ? user : nameOf(`user:${user}`),
  );
  return [...people, ...assignees.roles.map((role) => `${role}s`)].join(", ");
}

function Outcome({ pause }: { readonly pause: Pause }): JSX.Element {
  const nameOf = useNameOf();
  const { resolution } = pause;
  if (pause.status === "resolved" && resolution)
    return (
      <Notice tone="good">
        <span className="wrap">
          <strong>{labelOf(pause, resolution.action)}</strong>, by {nameOf(resolution.by)}, <Time at={resolution.at} />.
          {resolution.comment !== null && ` “${resolution.comment}”`}
        </span>
      </Notice>
    );
  return (
    <Notice tone="warn">
      {pause.status === "expired" ? "Nobody decided in time." : "The run ended before anybody decided."}
    </Notice>
  );
}

const labelOf = (pause: Pause, action: string): string =>
  pause.actions.find(({ id }) => id === action)?.label ?? action.charAt(0).toUpperCase() + action.slice(1);

function Decision({ pause, onGone }: { readonly pause: Pause; readonly onGone: () => void }): JSX.Element {
  const me = useMe();
  const may = useMay("editor", pause.project_id);
  const who = useAsked(pause);
  const schema = pause.form as FormSchema | null;
  const [initial] = useState<unknown>(() => schema && (initialData(schema) ?? {}));
  const [data, setData] = useState(initial);
  const [isUnread, setUnread] = useState(false);
  const [comment, setComment] = useState("");
  // For each thing one can mean here; a second click on the same is the same.
  const [intents] = useState(() => new Map<string, string>());
  const answer = useRunAction(resumeRun);
  const fields = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (answer.error) fields.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [answer.error]);
  if (!may) return <p className="muted">Your role may read this and not decide it.</p>;
  if (pause.received.some(({ by }) => by === `user:${me.id}`))
    return <p className="muted">You have answered. It waits for others.</p>;
  if (!pause.may_answer && who !== null) return <p className="wrap">You are not asked: only {who} can answer this.</p>;

  const problem = answer.error && toProblem(answer.error);
  const [first] = pause.actions;
  // A rejection needs no data: the form may be incomplete. What somebody has filled in goes along.
  const isGiven = (action: string): boolean =>
    schema !== null && (action !== "reject" || JSON.stringify(data) !== JSON.stringify(initial));
  const bodyOf = (action: string) => ({
    pause_id: pause.pause_id,
    action,
    ...(schema && isGiven(action) && { data: completed(schema, data) as Record<string, never> }),
    ...(comment !== "" && { comment }),
  });
  const decide = (action: string, form: HTMLFormElement | null): void => {
    const unread = isGiven(action) && form ? unreadable(form) : undefined;
    setUnread(unread !== undefined);
    if (unread) return unread.focus();
    const body = bodyOf(action);
    const meant = JSON.stringify(body);
    const intent = intents.get(meant) ?? newIntent();
    intents.set(meant, intent);
    answer.mutate(
      { run_id: pause.run_id, intent, ...body },
      {
        onError(error) {
          if (error instanceof ApiProblem && (error.status === 409 || error.status === 410)) onGone();
        },
      },
    );
  };
  return (
    <form ref={fields} className="stack" noValidate onSubmit={(event) => event.preventDefault()}>
      {schema && <SchemaForm schema={schema} value={data} onChange={setData} errors={errorsOf(problem)} />}
      <Field label="Comment (optional)" hint="Kept with the decision.">
        {(control) => (
          <input className="input" value={comment} onChange={(event) => setComment(event.target.value)} {...control} />
        )}
      </Field>
      {problem && problem.status !== 422 && <Failure fault={problem} />}
      {problem?.status === 422 && (
        <Notice tone="bad">Some of it is not accepted: see the fields. The pause is still open.</Notice>
      )}
      {isUnread && <Notice tone="bad">One field cannot be read as it is. Correct it, or leave it empty.</Notice>}
      <div className="row">
        {pause.actions.map(({ id }, index) => (
          <button
            key={id}
            type="button"
            className={`button ${id === "reject" ? "button-danger" : index === 0 ? "button-primary" : ""}`}
            disabled={answer.isPending}
            onClick={(event) => decide(id, event.currentTarget.form)}
          >
            {labelOf(pause, id)}
          </button>
        ))}
        {first && <CopyCurl command={curlOfCall("POST", `/v2/runs/${pause.run_id}/resume`, bodyOf(first.id))} />}
      </div>
    </form>
  );
}

/** The places of a 422, by their path below `body.data`. */
function errorsOf(problem: ApiProblem | null): FormErrors {
  const errors = new Map<string, string[]>();
  for (const { loc, msg } of problem?.issues ?? []) {
    const key = pathKey(loc[1] === "data" ? loc.slice(2) : []);
    errors.set(key, [...(errors.get(key) ?? []), msg]);
  }
  return errors;
}
