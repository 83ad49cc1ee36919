import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type JSX } from "react";
import { useMay, useMe } from "../api/accounts.ts";
import { usersOptions } from "../api/users.ts";
import { useIntent } from "../api/intent.ts";
import type { Pause } from "../api/pauses.ts";
import { ApiProblem, toProblem } from "../api/problem.ts";
import { resumeRun, useRunAction } from "../api/runs.ts";
import { CopyCurl, shortId } from "../parts/copy.tsx";
import { curlOfCall } from "../parts/curl.ts";
import { Field } from "../parts/field.tsx";
import { SchemaForm } from "../parts/schema-form/schema-form.tsx";
import { unreadable } from "../parts/schema-form/controls.tsx";
import { completed, initialData } from "../parts/schema-form/data.ts";
import { useFormState } from "../parts/schema-form/form-state.ts";
import { pathKey, type FormErrors } from "../parts/schema-form/schema.ts";
import { Failure, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";

/** Returns the name of the person who decided, or a short ID if the user may not see it. */
function useNameOf(): (by: string | null) => string {
  const me = useMe();
  const isAdmin = useMay("admin");
  const { data: users } = useQuery({ ...usersOptions, enabled: isAdmin });
  return (by) => {
    if (by === null) return "automatically, because it expired";
    const [type, id = ""] = by.split(":");
    if (type !== "user") return `API key ${shortId(id)}`;
    if (id === me.user?.user_id) return "you";
    return users?.data.find(({ user_id }) => user_id === id)?.email ?? `user ${shortId(id)}`;
  };
}

/** The assignees, and the decisions received so far. */
export function Asked({ pause }: { readonly pause: Pause }): JSX.Element | null {
  const nameOf = useNameOf();
  const who = useAsked(pause);
  const { received, required_approvals: required, actions } = pause;
  if (pause.status !== "waiting") return who === null ? null : <p className="muted wrap">Assigned to {who}.</p>;
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
        {who !== null && <span>Can decide: {who}.</span>}
        {required > 1 && (
          <span>
            {required} people must choose the same action. One rejection is enough to reject.{" "}
            {counts.length === 0 ? "No decisions yet." : `So far: ${counts.join("; ")}.`}
          </span>
        )}
      </div>
    </Notice>
  );
}

/** The assignees in words; null if everyone may decide. */
function useAsked({ assignees }: Pause): string | null {
  const me = useMe();
  const nameOf = useNameOf();
  if (assignees === null) return null;
  const people = assignees.users.map((user) =>
    user === me.user?.email.toLowerCase() ? "you" : user.includes("@") ? user : nameOf(`user:${user}`),
  );
  return [...people, ...assignees.roles.map((role) => `${role}s`)].join(", ");
}

export function Outcome({ pause }: { readonly pause: Pause }): JSX.Element {
  const nameOf = useNameOf();
  const { resolution } = pause;
  if (pause.status === "resolved" && resolution)
    return (
      <Notice tone="good">
        <span className="wrap">
          <strong>{labelOf(pause, resolution.action)}</strong>,{" "}
          {resolution.by === null ? nameOf(null) : `by ${nameOf(resolution.by)}`}, <Time at={resolution.at} />.
          {resolution.comment !== null && ` “${resolution.comment}”`}
        </span>
      </Notice>
    );
  return (
    <Notice tone="warn">
      {pause.status === "expired" ? "Expired before anyone decided." : "The run finished before anyone decided."}
    </Notice>
  );
}

const labelOf = (pause: Pause, action: string): string =>
  pause.actions.find(({ id }) => id === action)?.label ?? action.charAt(0).toUpperCase() + action.slice(1);

/** The form of an open approval, with a button for each action. `onGone` is called if it was decided or expired meanwhile. */
export function Decision({ pause, onGone }: { readonly pause: Pause; readonly onGone: () => void }): JSX.Element {
  const me = useMe();
  const may = useMay("editor", pause.project_id);
  const who = useAsked(pause);
  const schema = pause.form;
  const data = useFormState(() => schema && (initialData(schema) ?? {}));
  const [isUnread, setUnread] = useState(false);
  const [comment, setComment] = useState("");
  const intent = useIntent();
  const answer = useRunAction(resumeRun);
  const fields = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (answer.error) fields.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [answer.error]);
  if (!may) return <p className="muted">Your role can view this approval but not decide it.</p>;
  if (pause.received.some(({ by }) => by === `user:${me.id}`))
    return <p className="muted">You have decided. Waiting for other assignees.</p>;
  if (!pause.may_answer && who !== null) return <p className="wrap">Only {who} can decide this.</p>;

  const problem = answer.error && toProblem(answer.error);
  const [first] = pause.actions;
  // A rejection needs no data, so the form may be incomplete; entered data is sent with it.
  const isGiven = (action: string): boolean => schema !== null && (action !== "reject" || data.isDirty);
  const bodyOf = (action: string) => ({
    pause_id: pause.pause_id,
    action,
    ...(schema && isGiven(action) && { data: completed(schema, data.value) as Record<string, never> }),
    ...(comment !== "" && { comment }),
  });
  const decide = (action: string, form: HTMLFormElement | null): void => {
    const unread = isGiven(action) && form ? unreadable(form) : undefined;
    setUnread(unread !== undefined);
    if (unread) return unread.focus();
    answer.mutate(
      { run_id: pause.run_id, intent, ...bodyOf(action) },
      {
        onError(error) {
          if (error instanceof ApiProblem && (error.status === 409 || error.status === 410)) onGone();
        },
      },
    );
  };
  return (
    <form ref={fields} className="stack" noValidate onSubmit={(event) => event.preventDefault()}>
      {schema && <SchemaForm schema={schema} value={data.value} onChange={data.change} errors={errorsOf(problem)} />}
      {data.canUndo && (
        <div className="row">
          <button type="button" className="button button-small" onClick={data.undo}>
            Undo
          </button>
          <button type="button" className="button button-small" disabled={!data.isDirty} onClick={data.reset}>
            Reset form
          </button>
        </div>
      )}
      <Field label="Comment (optional)" hint="Saved with the decision.">
        {(control) => (
          <input className="input" value={comment} onChange={(event) => setComment(event.target.value)} {...control} />
        )}
      </Field>
      {problem && problem.status !== 422 && <Failure fault={problem} />}
      {problem?.status === 422 && (
        <Notice tone="bad">Some fields are not valid. Correct the marked fields; the approval is still open.</Notice>
      )}
      {isUnread && <Notice tone="bad">One field is not valid. Correct it or clear it.</Notice>}
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

/** The errors of a 422 by their location below `body.data`. */
function errorsOf(problem: ApiProblem | null): FormErrors {
  const errors = new Map<string, string[]>();
  for (const { loc, msg } of problem?.issues ?? []) {
    const key = pathKey(loc[1] === "data" ? loc.slice(2) : []);
    errors.set(key, [...(errors.get(key) ?? []), msg]);
  }
  return errors;
}
