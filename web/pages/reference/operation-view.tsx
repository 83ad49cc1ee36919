import { useEffect, useRef, useState, type JSX } from "react";
import type { ApiResponse, Media, Operation, Parameter, Reference } from "../../api/reference.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { exampleText } from "./draft.ts";
import { Inline, Prose } from "./prose.tsx";
import { SchemaView, Shape } from "./schema-view.tsx";
import { TryForm, type PastedKey } from "./try-form.tsx";

const CREDENTIALS = {
  session: "Secret key, access token or console session.",
  key: "API key or access token.",
  none: "No authentication.",
};

/** One operation: parameters, responses, and a form to send a request. */
export function OperationView({
  operation,
  reference,
  pastedKey,
}: {
  readonly operation: Operation;
  readonly reference: Reference;
  readonly pastedKey: PastedKey;
}): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${operation.summary} · Millrace API`;
    heading.current?.focus({ preventScroll: true });
    scrollTo({ top: 0 });
  }, [operation]);
  const { resolve } = reference;
  return (
    <article className="stack">
      <div className="stack-tight">
        <p className="small muted">{operation.tag}</p>
        <h1 ref={heading} tabIndex={-1} className="wrap">
          {operation.summary}
        </h1>
        <p className="row">
          <Method method={operation.method} />
          <code className="wrap">{operation.path}</code>
          <CopyButton text={location.origin + operation.path} label="URL" />
          <a className="small" href={`#${operation.id}`}>
            {operation.id}
          </a>
        </p>
        <Prose text={operation.description} />
        <p className="small muted">{CREDENTIALS[operation.credential]}</p>
      </div>
      <div className="reference-columns">
        <div className="stack">
          <Parameters parameters={operation.parameters} reference={reference} />
          {operation.body && (
            <section className="stack-tight" aria-labelledby="reference-body">
              <h2 id="reference-body">Body{operation.body.required === true ? "" : " (optional)"}</h2>
              {Object.entries(operation.body.content).map(([type, media]) => (
                <MediaView key={type} type={type} media={media} resolve={resolve} openAtOnce />
              ))}
            </section>
          )}
          <section className="stack-tight" aria-labelledby="reference-answers">
            <h2 id="reference-answers">Responses</h2>
            {operation.responses.map(([status, response]) => (
              <ResponseView key={status} status={status} response={response} resolve={resolve} />
            ))}
          </section>
        </div>
        <section className="panel stack reference-try" aria-labelledby="reference-try">
          <h2 id="reference-try">Try it</h2>
          <TryForm operation={operation} reference={reference} pastedKey={pastedKey} />
        </section>
      </div>
    </article>
  );
}

export function Method({ method }: { readonly method: string }): JSX.Element {
  return <span className={`reference-method reference-${method.toLowerCase()}`}>{method}</span>;
}

function Parameters({
  parameters,
  reference: { resolve },
}: {
  readonly parameters: readonly Parameter[];
  readonly reference: Reference;
}): JSX.Element | null {
  if (parameters.length === 0) return null;
  return (
    <section className="stack-tight" aria-labelledby="reference-parameters">
      <h2 id="reference-parameters">Parameters</h2>
      <ul className="schema">
        {parameters.map((parameter) => (
          <li key={`${parameter.in}:${parameter.name}`}>
            <p>
              <code className="schema-name">{parameter.name}</code>{" "}
              <span className="small muted">(in {parameter.in})</span>{" "}
              <Shape schema={parameter.schema ?? {}} resolve={resolve} />
              {(parameter.required === true || parameter.in === "path") && (
                <span className="schema-required">required</span>
              )}
            </p>
            {parameter.description !== undefined && (
              <p className="small muted wrap">
                <Inline text={parameter.description} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function ResponseView({
  status,
  response,
  resolve,
}: {
  readonly status: string;
  readonly response: ApiResponse;
  readonly resolve: Reference["resolve"];
}): JSX.Element {
  const [open, setOpen] = useState(status.startsWith("2"));
  const headers = Object.entries(response.headers ?? {});
  return (
    <details className="reference-answer-row" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{status}</strong> <Inline text={response.description} />
      </summary>
      {open && (
        <div className="stack-tight">
          {headers.length > 0 && (
            <p className="small muted wrap">
              Headers:{" "}
              {headers.map(([name]) => (
                <code key={name}>{name} </code>
              ))}
            </p>
          )}
          {Object.entries(response.content ?? {}).map(([type, media]) => (
            <MediaView key={type} type={type} media={media} resolve={resolve} />
          ))}
        </div>
      )}
    </details>
  );
}

function MediaView({
  type,
  media,
  resolve,
  openAtOnce = false,
}: {
  readonly type: string;
  readonly media: Media;
  readonly resolve: Reference["resolve"];
  readonly openAtOnce?: boolean;
}): JSX.Element {
  const examples =
    media.example === undefined
      ? Object.entries(media.examples ?? {}).map(([name, { value }]) => [name, value] as const)
      : [["Example", media.example] as const];
  return (
    <div className="stack-tight">
      <p className="small muted">{type}</p>
      {media.schema && <SchemaView schema={media.schema} resolve={resolve} />}
      {examples.map(([name, value]) => (
        <Example key={name} name={name} value={value} openAtOnce={openAtOnce && examples.length === 1} />
      ))}
    </div>
  );
}

function Example({
  name,
  value,
  openAtOnce,
}: {
  readonly name: string;
  readonly value: unknown;
  readonly openAtOnce: boolean;
}): JSX.Element {
  const [open, setOpen] = useState(openAtOnce);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="small">{name === "Example" ? "Example" : `Example: ${name}`}</summary>
      {open && (
        <pre className="code-text" tabIndex={0} role="region" aria-label={`Example ${name}`}>
          {typeof value === "string" ? value : exampleText(value)}
        </pre>
      )}
    </details>
  );
}
