import { useRef, useState, type JSX } from "react";
import { ApiProblem } from "../api/problem.ts";
import { unreadable } from "../parts/schema-form/controls.tsx";
import { completed, initialData } from "../parts/schema-form/data.ts";
import { useFormState } from "../parts/schema-form/form-state.ts";
import { SchemaForm } from "../parts/schema-form/schema-form.tsx";
import { Formatted } from "../parts/markdown/formatted.tsx";
import { Output } from "./answer.tsx";
import { sayError } from "./api.ts";
import { errorsBelow, NO_ERRORS } from "./form-errors.ts";
import type { Pause } from "./shapes.ts";

export type Answering = (answer: { pause_id: string; action: string; data?: unknown }) => Promise<void>;

/** What a paused run asks. Questions for people of the organisation are only mentioned. */
export function Questions({
  pauses,
  onAnswer,
}: {
  readonly pauses: readonly Pause[];
  readonly onAnswer: Answering;
}): JSX.Element {
  const own = pauses.filter(({ answerable }) => answerable);
  return (
    <>
      {own.map((pause) => (
        <Question key={pause.pause_id} pause={pause} onAnswer={onAnswer} />
      ))}
      {own.length < pauses.length && (
        <p className="notice" role="status">
          Waiting for someone else to decide. You can close this page and look again later.
        </p>
      )}
    </>
  );
}

function Question({ pause, onAnswer }: { readonly pause: Pause; readonly onAnswer: Answering }): JSX.Element {
  const { form: schema, message, data } = pause;
  const { value, change, isDirty } = useFormState(() => schema && (initialData(schema) ?? {}));
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const fields = useRef<HTMLFormElement>(null);
  const decide = async (action: string): Promise<void> => {
    // A rejection needs no data, so the form may be incomplete.
    const isGiven = schema !== null && (action !== "reject" || isDirty);
    const unread = isGiven && fields.current ? unreadable(fields.current) : undefined;
    if (unread) return unread.focus();
    setBusy(true);
    setError(null);
    try {
      await onAnswer({ pause_id: pause.pause_id, action, ...(isGiven && { data: completed(schema, value) }) });
    } catch (fault) {
      setError(fault);
      setBusy(false);
    }
  };
  const isInvalid = error instanceof ApiProblem && error.status === 422;
  return (
    <form
      ref={fields}
      className="panel stack"
      aria-label="Question"
      noValidate
      onSubmit={(event) => event.preventDefault()}
    >
      {message !== null && <Formatted text={message} />}
      {data != null && <Output value={data} label="Data" />}
      {schema !== null && (
        <SchemaForm
          schema={schema}
          value={value}
          onChange={change}
          errors={isInvalid ? errorsBelow(error, "data") : NO_ERRORS}
        />
      )}
      {error !== null && (
        <p className="notice notice-bad" role="alert">
          {isInvalid ? "Some fields are not valid. Correct the marked fields and send them again." : sayError(error)}
        </p>
      )}
      <div className="row">
        {pause.actions.map(({ id, label }, at) => (
          <button
            key={id}
            type="button"
            className={`button ${at === 0 ? "button-primary" : ""}`}
            disabled={isBusy}
            onClick={() => void decide(id)}
          >
            {label ?? id.charAt(0).toUpperCase() + id.slice(1)}
          </button>
        ))}
      </div>
    </form>
  );
}
