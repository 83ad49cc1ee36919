import type { JSX } from "react";
import type { Operation, Reference, Schema } from "../../api/reference.ts";
import { Field } from "../../parts/field.tsx";
import { exampleText, examplesOf, isFile, mediaTypes, type Draft } from "./draft.ts";

/** Editor for a request body: JSON text, form fields, or a file. */
export function BodyFields({
  operation,
  draft,
  resolve,
  change,
}: {
  readonly operation: Operation;
  readonly draft: Draft;
  readonly resolve: Reference["resolve"];
  readonly change: (part: Partial<Draft>) => void;
}): JSX.Element | null {
  const types = mediaTypes(operation);
  const { mediaType } = draft;
  if (mediaType === null) return null;
  const media = operation.body?.content[mediaType];
  return (
    <>
      {types.length > 1 && (
        <Field label="Body type">
          {(control) => (
            <select
              className="input"
              value={mediaType}
              onChange={(event) => change({ mediaType: event.target.value })}
              {...control}
            >
              {types.map((type) => (
                <option key={type}>{type}</option>
              ))}
            </select>
          )}
        </Field>
      )}
      {mediaType === "application/json" ? (
        <JsonBody examples={examplesOf(media)} text={draft.text} change={change} />
      ) : mediaType.includes("form") ? (
        <FormBody schema={resolve<Schema>(media?.schema ?? {})} draft={draft} resolve={resolve} change={change} />
      ) : (
        <Field label={`File (${mediaType})`}>
          {(control) => (
            <input
              className="input"
              type="file"
              onChange={(event) => change({ file: event.target.files?.[0] ?? null })}
              {...control}
            />
          )}
        </Field>
      )}
    </>
  );
}

function JsonBody({
  examples,
  text,
  change,
}: {
  readonly examples: ReturnType<typeof examplesOf>;
  readonly text: string;
  readonly change: (part: Partial<Draft>) => void;
}): JSX.Element {
  return (
    <>
      {examples.length > 1 && (
        <div className="row" role="group" aria-label="Examples">
          <span className="small muted">Examples:</span>
          {examples.map(([name, value]) => (
            <button
              key={name}
              type="button"
              className="button button-small"
              onClick={() => change({ text: exampleText(value) })}
            >
              {name}
            </button>
          ))}
        </div>
      )}
      <Field label="Body (JSON)">
        {(control) => (
          <textarea
            className="input mono"
            spellCheck={false}
            rows={Math.min(18, Math.max(4, text.split("\n").length))}
            value={text}
            onChange={(event) => change({ text: event.target.value })}
            {...control}
          />
        )}
      </Field>
    </>
  );
}

function FormBody({
  schema,
  draft,
  resolve,
  change,
}: {
  readonly schema: Schema;
  readonly draft: Draft;
  readonly resolve: Reference["resolve"];
  readonly change: (part: Partial<Draft>) => void;
}): JSX.Element {
  const set = (name: string, value: string | File): void => change({ fields: { ...draft.fields, [name]: value } });
  return (
    <div className="reference-fields">
      {Object.entries(schema.properties ?? {}).map(([name, given]) => {
        const member = resolve<Schema>(given);
        const file = isFile(member) || (member.items !== undefined && isFile(resolve<Schema>(member.items)));
        const value = draft.fields[name];
        return (
          <Field key={name} label={name}>
            {(control) =>
              file ? (
                <input
                  className="input"
                  type="file"
                  onChange={(event) => set(name, event.target.files?.[0] ?? "")}
                  {...control}
                />
              ) : (
                <input
                  className="input"
                  type={name === "password" ? "password" : "text"}
                  autoComplete="off"
                  value={typeof value === "string" ? value : ""}
                  onChange={(event) => set(name, event.target.value)}
                  {...control}
                />
              )
            }
          </Field>
        );
      })}
    </div>
  );
}
