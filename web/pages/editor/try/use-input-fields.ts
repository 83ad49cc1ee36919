import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { readDraftIo } from "../../../api/tries.ts";
import { nodesOf } from "../../../flow/access.ts";
import { useEditor } from "../editor-context.ts";
import { inputFields, type InputField } from "../../../flow/input-fields.ts";
import { useSettled } from "../../../parts/use-settled.ts";

const AFTER_MS = 700;
const INPUTS = "inputs";

/** The inputs of the draft: by its schema, or, while the flow has errors, by what its expressions can read. Null until they are known. */
export function useInputFields(): { readonly data: readonly InputField[] | null } {
  const { projectId, state, scope, kindOf, saveNow } = useEditor();
  // Only nodes that take inputs decide about the form.
  const shape = JSON.stringify(nodesOf(state.document).filter(({ type }) => kindOf(type)?.group === INPUTS));
  const settled = useSettled(shape, AFTER_MS);
  const io = useQuery({
    queryKey: ["drafts", "io", projectId, settled],
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: async () => {
      await saveNow();
      return readDraftIo(projectId);
    },
  });
  const described: unknown = io.data?.inputs;
  const read = scope?.values.find(({ kind }) => kind === "inputs")?.schema;
  return useMemo(() => {
    if (described !== undefined) return { data: inputFields(described) };
    return { data: io.isError && read !== undefined ? inputFields(read) : null };
  }, [described, io.isError, read]);
}
