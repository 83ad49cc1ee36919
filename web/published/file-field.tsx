import { useRef, type JSX } from "react";
import { Field } from "../parts/field.tsx";
import { Icon } from "../parts/icons.tsx";
import type { UploadInput } from "./shapes.ts";
import { useValue } from "./state.ts";
import { acceptOf } from "./turn.ts";
import { sizeOf, type Uploads } from "./uploads.ts";

/** A field for the files of one input. */
export function FileField({
  input,
  hint,
  isRequired,
  uploads,
  errors,
}: {
  readonly input: UploadInput;
  readonly hint: string | undefined;
  readonly isRequired: boolean;
  readonly uploads: Uploads;
  readonly errors: readonly string[];
}): JSX.Element {
  const { node_id: id, kind, title, max_bytes: most } = input;
  const field = useRef<HTMLInputElement>(null);
  const fault = useValue(uploads.state).errors[id];
  const name = title ?? { files: "Files", audio: "Recording", image: "Picture" }[kind];
  return (
    <div className="stack-tight">
      <Field
        label={isRequired ? name : `${name} (optional)`}
        hint={`${hint === undefined ? "" : `${hint} `}At most ${sizeOf(most)}${kind === "files" ? " each" : ""}.`}
        errors={fault === undefined ? errors : [fault]}
      >
        {(control) => (
          <input
            ref={field}
            className="input"
            type="file"
            multiple={kind === "files"}
            accept={acceptOf(input)}
            onChange={(event) => {
              void uploads.add(input, [...(event.target.files ?? [])]).then(() => {
                if (field.current) field.current.value = "";
              });
            }}
            {...control}
          />
        )}
      </Field>
      <FileList input={input} uploads={uploads} />
    </div>
  );
}

function FileList({ input, uploads }: { readonly input: UploadInput; readonly uploads: Uploads }): JSX.Element | null {
  const files = useValue(uploads.state).files[input.node_id] ?? [];
  if (files.length === 0) return null;
  return (
    <ul className="file-list" aria-label="Chosen files">
      {files.map((file) => (
        <li key={file.filename}>
          <span className="wrap">
            {file.filename} <span className="muted">({sizeOf(file.size)})</span>
            {file.error !== null && <span className="field-error"> {file.error.message}</span>}
          </span>
          <button
            type="button"
            className="button button-quiet"
            aria-label={`Remove ${file.filename}`}
            onClick={() => uploads.remove(input, file)}
          >
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
