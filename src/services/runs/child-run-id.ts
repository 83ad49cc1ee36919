import { createHash } from "node:crypto";
import { uuidv7 } from "uuidv7";
import { uuid7Of } from "../../domain/uuid.ts";

/** Characters at the end of a child's id that identify the calling run and node. */
const MADE_OF_NAMES = 22;

/**
 * An id with the present time, like any run's; the rest is derived from the caller, so that a retry finds the first
 * run.
 */
export function childRunId(parentRunId: string, path: string): string {
  return uuid7Of(uuidv7(), createHash("sha256").update(`${parentRunId} ${path}`).digest("hex"));
}

/** The end of the id of a child that a node of a run has called. */
export const childRunEnd = (parentRunId: string, path: string): string =>
  childRunId(parentRunId, path).slice(-MADE_OF_NAMES);
