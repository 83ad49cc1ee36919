import { uuidv7 } from "uuidv7";
import { digestId } from "../../domain/derived-id.ts";

/** Characters at the end of a child's id that identify the calling run and node. */
const MADE_OF_NAMES = 22;

/**
 * An id with the present time, like any run's; the rest is derived from the caller, so that a retry finds the first
 * run.
 */
export function childRunId(parentRunId: string, path: string): string {
  return digestId(uuidv7(), `${parentRunId} ${path}`);
}

/** The end of the id of a child that a node of a run has called. */
export const childRunEnd = (parentRunId: string, path: string): string =>
  childRunId(parentRunId, path).slice(-MADE_OF_NAMES);
