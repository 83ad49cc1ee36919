import type { JSX } from "react";
import { Field } from "../../parts/field.tsx";
import type { UploadInput } from "./call-form.ts";

/** The files that are uploaded before the call. */
export function FileFields({
  uploads,
  onChange,
}: {
  readonly uploads: readonly UploadInput[];
  readonly onChange: (nodeId: string, file: File | null) => void;
}): JSX.Element {
  return (
    <>
      {uploads.map(({ node_id, label, hint }) => (
        <Field key={node_id} label={label} {...(hint !== undefined && { hint })}>
          {(control) => (
            <input
              className="input"
              type="file"
              onChange={(event) => onChange(node_id, event.target.files?.[0] ?? null)}
              {...control}
            />
          )}
        </Field>
      ))}
    </>
  );
}
