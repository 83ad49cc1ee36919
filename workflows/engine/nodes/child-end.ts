import { WorkflowExecutionAlreadyStartedError } from "@temporalio/common";
import { sleep } from "@temporalio/workflow";
import type { RunContext } from "../context.ts";

/** Wait before the next attempt to start a child whose earlier workflow is still running (ms). */
const CHILD_ENDS_MS = 2000;

/**
 * Starts a child and returns its result. After a restart of the run, the child of the lost workflow may still be ending; the start is then
 * repeated.
 */
export async function childEnd<T>({ identity }: RunContext, start: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (identity.restarted !== true || !(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    await sleep(CHILD_ENDS_MS);
  }
}
