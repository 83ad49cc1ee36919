import { executeActivity } from "./activity.ts";
import type { Executor } from "./executor.ts";

/** Executes a node in an activity whose value names the chosen branch. */
export const executeRouter: Executor = async (frame, node, interpreter) => {
  const result = await executeActivity(frame, node, interpreter);
  // This value is always short enough to be inline.
  const { matched } = ("v" in result.value ? result.value.v : {}) as { readonly matched?: string };
  return { ...result, handles: [matched === undefined || matched === "else" ? "else" : `case:${matched}`] };
};
