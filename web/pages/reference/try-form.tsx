import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type JSX } from "react";
import { meOptions } from "../../api/accounts.ts";
import { sendRaw, type RawAnswer } from "../../api/raw-request.ts";
import type { Operation, Parameter, Reference, Schema } from "../../api/reference.ts";
import { Field, type FieldControl } from "../../parts/field.tsx";
import { AnswerView } from "../../parts/snippets/answer-view.tsx";
import { CodeView } from "../../parts/snippets/code-view.tsx";
import { requestCode } from "../../parts/snippets/request-code.ts";
import { Notice } from "../../parts/states.tsx";
import { BodyFields } from "./body-fields.tsx";
import { acceptable, isList, missing, parameterKey, requestOf, startingDraft, type Draft } from "./draft.ts";

/** A key that the user has pasted; it is kept in the memory of this page only. */
export interface PastedKey {
  readonly value: string;
  readonly set: (value: string) => void;
}

/** Builds a request, shows it in three languages, sends it, and shows the response. */
export function TryForm({
  operation,
  reference: { resolve },
  pastedKey,
}: {
  readonly operation: Operation;
  readonly reference: Reference;
  readonly pastedKey: PastedKey;
}): JSX.Element {
  const [draft, setDraft] = useState(() => startingDraft(operation));
  const [answer, setAnswer] = useState<RawAnswer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [sending, setSending] = useState<AbortController | null>(null);
  const latest = useRef<AbortController | null>(null);
  const change = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }));
  const setParameter = (parameter: Parameter, value: string): void =>
    setDraft((before) => ({ ...before, parameters: { ...before.parameters, [parameterKey(parameter)]: value } }));

  const request = requestOf(operation, draft, resolve);
  const send = async (): Promise<void> => {
    const lacking = missing(operation, draft);
    setProblem(lacking);
    if (lacking !== null) return;
    latest.current?.abort();
    const controller = new AbortController();
    latest.current = controller;
    setSending(controller);
    setAnswer(null);
    const key = operation.credential === "none" ? "" : pastedKey.value.trim();
    const headers = key === "" ? request.headers : { ...request.headers, Authorization: `Bearer ${key}` };
    try {
      await sendRaw({ ...request, headers }, controller.signal, setAnswer);
    } catch (error) {
      if (!controller.signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
    }
    if (latest.current === controller) setSending(null);
  };

  const needed = operation.parameters.filter((each) => each.in === "path" || each.required === true);
  const optional = operation.parameters.filter((each) => !needed.includes(each));
  const types = acceptable(operation);
  const input = (parameter: Parameter): JSX.Element => (
    <ParameterField
      key={parameterKey(parameter)}
      parameter={parameter}
      resolve={resolve}
      value={draft.parameters[parameterKey(parameter)] ?? ""}
      onChange={(value) => setParameter(parameter, value)}
    />
  );

  return (
    <form
      className="stack"
      aria-label={`Try ${operation.id}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {operation.credential !== "none" && <CredentialField operation={operation} pastedKey={pastedKey} />}
      {needed.length > 0 && <div className="reference-fields">{needed.map(input)}</div>}
      <BodyFields operation={operation} draft={draft} resolve={resolve} change={change} />
      {(optional.length > 0 || types.length > 0) && (
        <details>
          <summary>Optional parameters ({optional.length + (types.length > 0 ? 1 : 0)})</summary>
          <div className="reference-fields">
            {optional.map(input)}
            {types.length > 0 && (
              <Field label="Accept" hint="Header. Media type of the response.">
                {(control) => (
                  <select
                    className="input"
                    value={draft.accept ?? ""}
                    onChange={(event) => change({ accept: event.target.value === "" ? null : event.target.value })}
                    {...control}
                  >
                    <option value="">Not set</option>
                    {types.map((type) => (
                      <option key={type}>{type}</option>
                    ))}
                  </select>
                )}
              </Field>
            )}
          </div>
        </details>
      )}
      <CodeView code={(language) => requestCode(language, request, operation.credential !== "none")} />
      <div className="row">
        <button type="submit" className="button button-primary">
          Send
        </button>
        {sending !== null && (
          <button
            type="button"
            className="button"
            onClick={() => {
              sending.abort();
              setSending(null);
            }}
          >
            Stop
          </button>
        )}
        <span className="small muted">Sends a real request. It can change or delete data.</span>
      </div>
      {problem !== null && <Notice tone="bad">{problem}</Notice>}
      {answer && <AnswerView answer={answer} />}
    </form>
  );
}

function CredentialField({
  operation,
  pastedKey,
}: {
  readonly operation: Operation;
  readonly pastedKey: PastedKey;
}): JSX.Element {
  const { data: me } = useQuery(meOptions);
  const who = me?.user?.email;
  const hint =
    operation.credential === "key"
      ? "This operation needs an API key or access token. It stays in this page's memory only."
      : who !== undefined
        ? `Leave empty to send the request as ${who}. A key stays in this page's memory only.`
        : "You are not signed in. Paste a secret key; it stays in this page's memory only.";
  return (
    <Field label="API key or token" hint={hint}>
      {(control) => (
        <input
          className="input mono"
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={pastedKey.value}
          onChange={(event) => pastedKey.set(event.target.value)}
          {...control}
        />
      )}
    </Field>
  );
}

function ParameterField({
  parameter,
  resolve,
  value,
  onChange,
}: {
  readonly parameter: Parameter;
  readonly resolve: Reference["resolve"];
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const schema = resolve<Schema>(parameter.schema ?? {});
  const many = isList(parameter, resolve);
  const choices = schema.type === "boolean" ? ["true", "false"] : schema.enum?.map(String);
  const place = parameter.in === "header" ? "Header. " : "";
  const hint = `${place}${many ? "Separate values with commas. " : ""}`.trim();
  const control = (given: FieldControl): JSX.Element =>
    choices ? (
      <select className="input" value={value} onChange={(event) => onChange(event.target.value)} {...given}>
        <option value="">Not set</option>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    ) : (
      <input className="input" value={value} onChange={(event) => onChange(event.target.value)} {...given} />
    );
  return (
    <Field label={parameter.name} {...(hint === "" ? {} : { hint })}>
      {control}
    </Field>
  );
}
