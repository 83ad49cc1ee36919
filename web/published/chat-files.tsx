import type { JSX } from "react";
import { Files } from "../chat/files.tsx";
import type { UploadInput } from "./shapes.ts";
import { useValue } from "./state.ts";
import type { Uploads } from "./uploads.ts";

/** The files that a conversation has got since it was opened, and why others are not among them. */
export function ChatFiles({
  documents,
  uploads,
}: {
  readonly documents: readonly UploadInput[];
  readonly uploads: Uploads;
}): JSX.Element {
  const { files: all, coming, errors } = useValue(uploads.state);
  return (
    <>
      {documents.map((input) => {
        const { node_id: id } = input;
        const there = (all[id] ?? []).map(({ filename, error }) => ({
          key: filename,
          name: filename,
          state: error === null ? ("ready" as const) : ("failed" as const),
          error: error?.message ?? null,
        }));
        const names = (coming[id] ?? []).filter((name) => there.every(({ key }) => key !== name));
        const uploading = names.map((name) => ({ key: name, name, state: "uploading" as const, error: null }));
        return (
          <div key={id}>
            <Files
              files={[...there, ...uploading]}
              onRemove={({ key }) => {
                const file = all[id]?.find(({ filename }) => filename === key);
                if (file) uploads.remove(input, file);
              }}
            />
            {errors[id] !== undefined && (
              <p className="field-error" role="alert">
                {errors[id]}
              </p>
            )}
          </div>
        );
      })}
    </>
  );
}
