import { useEffect, useRef, useState, type JSX } from "react";
import { base64Of } from "../base64.ts";
import { Field } from "../field.tsx";
import type { ControlProps } from "./form-context.ts";
import { useFieldProps } from "./frame.tsx";

/** A decision holds at most 64 KiB of JSON, and base64 needs four characters for three bytes. */
const MAX_BYTES = 47 * 1024;

/** Reads a file as base64. A file that is too large is rejected before it is read. */
export function FileInput(props: ControlProps): JSX.Element {
  const { schema, value, change, path } = props;
  const onChange = (next: string | undefined): void => change(path, next);
  const [file, setFile] = useState<File>();
  const [fault, setFault] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  // The current handler, because other fields may change while the file is read.
  const take = useRef(onChange);
  useEffect(() => {
    take.current = onChange;
  });
  const most = Math.min(MAX_BYTES, Math.floor(((schema.maxLength ?? Infinity) / 4) * 3));
  const { errors, hint, ...field } = useFieldProps(props);
  const choose = async (chosen: File | undefined): Promise<void> => {
    setFile(undefined);
    setFault(undefined);
    onChange(undefined);
    if (chosen === undefined) return;
    if (chosen.size > most) return setFault(`${chosen.name} is ${kib(chosen.size)}. The limit is ${kib(most)}.`);
    try {
      take.current(await base64Of(chosen));
      setFile(chosen);
    } catch {
      setFault(`Could not read ${chosen.name}.`);
    }
  };
  const remove = (): void => {
    if (input.current) input.current.value = "";
    input.current?.focus();
    void choose(undefined);
  };
  return (
    <Field
      {...field}
      hint={
        <>
          {hint} Maximum {kib(most)}.
        </>
      }
      errors={fault === undefined ? errors : [fault]}
    >
      {(control) => (
        <div className="row">
          <input
            ref={input}
            type="file"
            className="input"
            accept={schema.contentMediaType}
            onChange={(event) => void choose(event.target.files?.[0])}
            {...control}
          />
          {value !== undefined && (
            <>
              <span className="small muted">{file ? kib(file.size) : "File selected"}</span>
              <button type="button" className="button button-small" onClick={remove}>
                Remove
              </button>
            </>
          )}
        </div>
      )}
    </Field>
  );
}

const kib = (bytes: number): string => `${Math.ceil(bytes / 1024).toLocaleString()} KiB`;
