import { useEffect, useRef, useState, type JSX } from "react";
import { ApiProblem } from "../api/problem.ts";
import { unreadable } from "../parts/schema-form/controls.tsx";
import { completed, initialData } from "../parts/schema-form/data.ts";
import { useFormState } from "../parts/schema-form/form-state.ts";
import { SchemaForm } from "../parts/schema-form/schema-form.tsx";
import { pathKey } from "../parts/schema-form/schema.ts";
import { sayError, type PageApi } from "./api.ts";
import { FileField } from "./file-field.tsx";
import { isSettled } from "./follow-run.ts";
import { errorsBelow } from "./form-errors.ts";
import { formSchema, hintOf, missingFiles, valuesOf } from "./inputs.ts";
import { placeIn } from "./place.ts";
import type { PageView } from "./shapes.ts";
import { Result } from "./result.tsx";
import { Runs } from "./runs.ts";
import { useValue } from "./state.ts";
import { Top } from "./top.tsx";
import { Uploads } from "./uploads.ts";

/** A form for the inputs of a flow; the outputs appear below it as they come. */
export function FormPage({
  api,
  view,
  isKept,
}: {
  readonly api: PageApi;
  readonly view: PageView;
  readonly isKept: () => boolean;
}): JSX.Element {
  const documents = view.documents ?? [];
  const schema = formSchema(view);
  const data = useFormState(() => initialData(schema) ?? {});
  const [runs] = useState(() => new Runs(api, null));
  const { turns, isConnected, error } = useValue(runs.state);
  const [uploads] = useState(() => new Uploads(api, runs));
  const { files } = useValue(uploads.state);
  const [missing, setMissing] = useState<readonly string[]>([]);
  const form = useRef<HTMLFormElement>(null);
  const result = useRef<HTMLElement>(null);
  const turn = turns.at(-1);
  const isBusy = turn !== undefined && !isSettled(turn.state);

  useEffect(() => {
    const id = placeIn("run");
    if (id !== null && api.isKnown) void runs.openRun(id);
    return () => runs.leave();
  }, [api, runs]);
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);

  const send = (): void => {
    const unread = form.current ? unreadable(form.current) : undefined;
    if (unread) return unread.focus();
    const without = missingFiles(view, files);
    setMissing(without);
    if (without.length > 0) return runs.refuse("Choose the files that are missing.");
    runs.clear();
    void runs.send("", { ...(completed(schema, data.value) as object), ...valuesOf(documents, files) });
    // On a phone the result is below the window.
    result.current?.scrollIntoView({ block: "nearest" });
  };
  const again = (): void => {
    uploads.clear();
    runs.begin();
    form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus();
  };
  const isInvalid = error instanceof ApiProblem && error.status === 422;
  const errors = isInvalid ? errorsBelow(error, "inputs") : undefined;
  const hasFields = Object.keys(schema.properties).length > 0;
  return (
    <>
      <Top look={view.look} />
      <main className="page-narrow stack">
        {view.look.welcome !== null && <p className="welcome">{view.look.welcome}</p>}
        <form
          ref={form}
          className="stack"
          aria-label={view.look.name}
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          {hasFields && (
            <SchemaForm schema={schema} value={data.value} onChange={data.change} errors={errors ?? new Map()} />
          )}
          {documents.map((input) => (
            <FileField
              key={input.node_id}
              input={input}
              hint={hintOf(view, input)}
              isRequired={view.inputs?.required?.includes(input.node_id) === true}
              uploads={uploads}
              errors={
                missing.includes(input.node_id) ? ["Choose a file."] : (errors?.get(pathKey([input.node_id])) ?? [])
              }
            />
          ))}
          {error !== null && (
            <p className="notice notice-bad" role="alert">
              {isInvalid
                ? "Some fields are not valid. Correct the marked fields and send the form again."
                : sayError(error)}
            </p>
          )}
          <div className="row">
            <button type="submit" className="button button-primary" disabled={isBusy || uploads.isUploading}>
              {uploads.isUploading ? "Uploading…" : "Send"}
            </button>
            {turn !== undefined && isBusy && (
              <button
                type="button"
                className="button"
                disabled={turn.runId === null}
                onClick={() => void runs.stop(turn)}
              >
                Stop
              </button>
            )}
          </div>
        </form>
        <section ref={result} className="result stack" aria-label="Result" hidden={turn === undefined}>
          {turn !== undefined && (
            <>
              <h2>Result</h2>
              <Result
                turn={turn}
                outputs={view.outputs?.properties ?? {}}
                isConnected={isConnected}
                onAnswer={(given) => runs.answer(turn, given)}
              />
              {!isBusy && (
                <div className="row">
                  <button type="button" className="button" onClick={again}>
                    Start again
                  </button>
                </div>
              )}
              {!isKept() && (
                <p className="muted">
                  Your browser does not let this page remember you: after a reload, the result is gone.
                </p>
              )}
            </>
          )}
        </section>
      </main>
    </>
  );
}
