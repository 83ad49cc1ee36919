import { uuidv7 } from "uuidv7";
import { digestId } from "../../domain/derived-id.ts";

/** Number of characters at the end of a child run's ID that identify the calling run and node. */
const MADE_OF_NAMES = 22;

/**
 * A run ID with the current time, like any other; the rest is derived from the caller, so that a retry finds the first
 * child run.
 */
export function childRunId(parentRunId: string, path: string): string {
  return digestId(uuidv7(), `${parentRunId} ${path}`);
}

/** The end of the ID of a child run that a node of a run has called. */
export const childRunEnd = (parentRunId: string, path: string): string =>
  childRunId(parentRunId, path).slice(-MADE_OF_NAMES);
