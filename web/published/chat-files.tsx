import type { JSX } from "react";
import { Files } from "../chat/files.tsx";
import type { UploadInput } from "./shapes.ts";
import type { Uploads } from "./uploads.ts";

/** The files that a conversation has got since it was opened, and why others are not among them. */
export function ChatFiles({
  documents,
  uploads,
}: {
  readonly documents: readonly UploadInput[];
  readonly uploads: Uploads;
}): JSX.Element {
  return (
    <>
      {documents.map((input) => {
        const { node_id: id } = input;
        const files = (uploads.files[id] ?? []).map(({ filename, error }) => ({
          key: filename,
          name: filename,
          state: error === null ? ("ready" as const) : ("failed" as const),
          error: error?.message ?? null,
        }));
        return (
          <div key={id}>
            <Files
              files={files}
              onRemove={({ key }) => {
                const file = uploads.files[id]?.find(({ filename }) => filename === key);
                if (file) uploads.remove(input, file);
              }}
            />
            {uploads.errors[id] !== undefined && (
              <p className="field-error" role="alert">
                {uploads.errors[id]}
              </p>
            )}
          </div>
        );
      })}
    </>
  );
}
