import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useRef, type JSX } from "react";
import { useMe } from "../../../api/accounts.ts";
import { toProblem } from "../../../api/problem.ts";
import { deleteFile, filesOptions, uploadFile, type FilesOf } from "../../../api/documents.ts";
import { Icon } from "../../../parts/icons.tsx";
import { Failure } from "../../../parts/states.tsx";
import { Status } from "../../../parts/status.tsx";
import { useEditor } from "../editor-context.ts";
import { sizeOf } from "./files.ts";
import type { InputField } from "../../../flow/input-fields.ts";
import { newUserId } from "./kept-inputs.ts";

/** Documents for a node. They are uploaded at once, and belong to the user ID of the run. */
export function FilesInput({
  field,
  userId,
  onUserId,
  beforeUpload,
}: {
  readonly field: InputField;
  readonly userId: string;
  readonly onUserId: (userId: string) => void;
  readonly beforeUpload: () => Promise<boolean>;
}): JSX.Element {
  const { projectId } = useEditor();
  const { organisation } = useMe();
  const client = useQueryClient();
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const owner = (user_id: string): FilesOf => ({ org: organisation.org_id, flow: projectId, node: field.id, user_id });
  const of = owner(userId);
  const files = useQuery({ ...filesOptions(of), enabled: userId !== "" });
  const reread = (): Promise<void> => client.invalidateQueries({ queryKey: ["documents", "list"] });
  const upload = useMutation({
    mutationFn: async (chosen: readonly File[]) => {
      if (!(await beforeUpload())) throw new Error("The draft could not be saved, so nothing was uploaded.");
      const user_id = userId === "" ? newUserId() : userId;
      onUserId(user_id);
      for (const file of chosen) await uploadFile(owner(user_id), file, true);
    },
    onSettled: reread,
  });
  const remove = useMutation({ mutationFn: (filename: string) => deleteFile(of, filename), onSettled: reread });
  const failure = upload.error ?? remove.error;
  const listed = files.data?.data ?? [];
  return (
    <div className="field try-input">
      <label htmlFor={id}>{field.label}</label>
      {listed.length > 0 && (
        <ul className="try-files" aria-label={`Uploaded to ${field.label}`}>
          {listed.map(({ file_id, filename, size, status, error }) => (
            <li key={file_id}>
              <span className="wrap">{filename}</span>
              <span className="small muted nowrap">{sizeOf(size)}</span>
              <Status state={status} />
              <button
                type="button"
                className="button button-quiet button-small"
                aria-label={`Remove ${filename}`}
                disabled={remove.isPending}
                onClick={() => remove.mutate(filename)}
              >
                <Icon name="cross" />
              </button>
              {error !== null && <span className="small field-error wrap">{error.message}</span>}
            </li>
          ))}
        </ul>
      )}
      <input
        id={id}
        ref={input}
        className="input"
        type="file"
        multiple
        data-input={field.id}
        accept={field.accept?.join(",")}
        disabled={upload.isPending}
        aria-describedby={`${id}-hint`}
        onChange={(event) => {
          const chosen = [...(event.target.files ?? [])];
          if (chosen.length > 0)
            upload.mutate(chosen, {
              onSettled: () => {
                if (input.current) input.current.value = "";
              },
            });
        }}
      />
      <span id={`${id}-hint`} className="small muted wrap" role="status">
        {upload.isPending
          ? "Uploading…"
          : (field.hint ?? "Uploaded at once. The documents stay until you remove them.")}
      </span>
      {failure && <Failure fault={toProblem(failure)} />}
    </div>
  );
}
