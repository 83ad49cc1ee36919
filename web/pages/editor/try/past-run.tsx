import { useQuery } from "@tanstack/react-query";
import { useEffect, type JSX } from "react";
import { ApiProblem, toProblem } from "../../../api/problem.ts";
import { isTerminal, type RunWithNodes } from "../../../api/runs.ts";
import { readTry } from "../../../api/tries.ts";
import { nodesOf } from "../../../flow/access.ts";
import type { Json } from "../../../flow/document.ts";
import { Failure, Loading, Notice } from "../../../parts/states.tsx";
import { useEditor } from "../editor-context.ts";
import { textsOf } from "../../../flow/input-fields.ts";
import { wholeValue } from "./request.ts";
import { sessionOf } from "./session.ts";

/** Opens a finished run in the editor: its inputs fill the form, and the values of its nodes become pins. */
export function PastRun({
  runId,
  onInputs,
}: {
  readonly runId: string;
  readonly onInputs: (entered: { readonly inputs: Readonly<Record<string, string>> }) => void;
}): JSX.Element | null {
  const { projectId, state, kindOf, setValues, setPins } = useEditor();
  const session = sessionOf(setValues);
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    queryKey: ["runs", "opened", runId],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => readTry(runId),
  });
  const isOther = run !== undefined && run.project_id !== projectId;
  const open = async (from: RunWithNodes): Promise<void> => {
    session.showPast(from);
    onInputs({ inputs: textsOf(from.inputs) });
    const known = new Set(
      nodesOf(state.document).flatMap(({ id, type }) => (kindOf(type)?.group === "outputs" ? [] : [id])),
    );
    const pins = new Map<string, Json>();
    for (const path of session.known.keys()) {
      const value = known.has(path) ? await wholeValue(session, path) : undefined;
      if (value === undefined) continue;
      pins.set(path, value);
      session.pinnedFrom.set(path, runId);
    }
    setPins(pins);
  };
  useEffect(() => {
    if (run && !isOther && session.opens(runId)) void open(run);
  });
  if (error)
    return error instanceof ApiProblem && error.status === 404 ? (
      <Notice tone="warn">Run not found. It may have been deleted by the retention policy.</Notice>
    ) : (
      <Failure fault={toProblem(error)} retry={() => void refetch()} />
    );
  if (!run) return <Loading what="the run" rows={2} />;
  if (isOther) return <Notice tone="warn">This run belongs to another flow, so its values are not used.</Notice>;
  return isTerminal(run.state) ? null : (
    <Notice tone="info">The run has not finished. Only the values so far are pinned.</Notice>
  );
}
