import { useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import { useMe } from "../../api/accounts.ts";
import { deleteFile, filesOptions, uploadFile, type FilesOf } from "../../api/documents.ts";
import type { ChatFile } from "../../chat/files.tsx";
import type { InputField } from "../../flow/input-fields.ts";

const STATES: Readonly<Record<string, ChatFile["state"]>> = { pending: "reading", error: "failed" };

/** The documents of a conversation. New ones go to the first input that takes documents. */
export function useChatFiles({
  projectId,
  user_id,
  inputs,
  isDraft,
}: {
  readonly projectId: string;
  readonly user_id: string;
  readonly inputs: readonly InputField[];
  readonly isDraft: boolean;
}) {
  const { organisation } = useMe();
  const client = useQueryClient();
  const of = (node: string): FilesOf => ({ org: organisation.org_id, flow: projectId, node, user_id });
  const lists = useQueries({ queries: inputs.map(({ id }) => filesOptions(of(id))) });
  const reread = (): Promise<void> => client.invalidateQueries({ queryKey: ["documents", "list"] });
  const [first] = inputs;
  const upload = useMutation({
    mutationFn: async (files: readonly File[]) => {
      if (!first) return;
      for (const file of files) {
        await uploadFile(of(first.id), file, isDraft);
        await reread();
      }
    },
    onSettled: reread,
  });
  const remove = useMutation({
    mutationFn: (file: ChatFile) => deleteFile(of(file.key.slice(0, file.key.indexOf("/"))), file.name),
    onSettled: reread,
  });
  const known = lists.flatMap(({ data }, at) =>
    (data?.data ?? []).map(({ filename, status, error }): ChatFile => ({
      key: `${inputs[at]?.id ?? ""}/${filename}`,
      name: filename,
      state: STATES[status] ?? "ready",
      error: error?.message ?? null,
    })),
  );
  const coming = (upload.isPending ? upload.variables : [])
    .filter(({ name }) => !known.some((file) => file.name === name))
    .map(({ name }): ChatFile => ({ key: `upload ${name}`, name, state: "uploading", error: null }));
  return {
    listed: [...known, ...coming],
    mayUpload: first !== undefined,
    accept: first?.accept?.join(","),
    upload: upload.mutate,
    remove: remove.mutate,
    error: upload.error ?? remove.error,
  };
}
