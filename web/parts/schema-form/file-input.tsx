import { useEffect, useRef, useState } from "react";
import type { JSX } from "react";
import { Field } from "../field.tsx";
import { fieldOf } from "./schema.ts";
import type { PartProps } from "./schema.ts";

/** An answer is at most 64 KiB of JSON, in which base64 takes four characters for three bytes. */
const MAX_BYTES = 47 * 1024;
/** Arguments of one call. */
const CHUNK = 8192;

/** A file, taken as base64. One that is too long is refused before it is read. */
export function FileInput(props: PartProps): JSX.Element {
  const { schema, value, onChange } = props;
  const [file, setFile] = useState<File>();
  const [fault, setFault] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  // Other fields may have changed while a file was read.
  const take = useRef(onChange);
  useEffect(() => {
    take.current = onChange;
  });
  const most = Math.min(MAX_BYTES, Math.floor(((schema.maxLength ?? Infinity) / 4) * 3));
  const { errors, hint, ...field } = fieldOf(props);
  const choose = async (chosen: File | undefined): Promise<void> => {
    setFile(undefined);
    setFault(undefined);
    onChange(undefined);
    if (chosen === undefined) return;
    if (chosen.size > most)
      return setFault(`${chosen.name} has ${kib(chosen.size)}; at most ${kib(most)} can be sent.`);
    try {
      take.current(base64(new Uint8Array(await chosen.arrayBuffer())));
      setFile(chosen);
    } catch {
      setFault(`${chosen.name} cannot be read.`);
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
      hint={[hint, `At most ${kib(most)}.`].filter(Boolean).join(" ")}
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
              <span className="small muted">{file ? kib(file.size) : "A file is set."}</span>
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

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
