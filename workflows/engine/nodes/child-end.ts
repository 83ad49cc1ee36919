import { WorkflowExecutionAlreadyStartedError } from "@temporalio/common";
import { sleep } from "@temporalio/workflow";
import type { RunContext } from "../context.ts";

/** Until a child is asked for again whose workflow is open (ms). */
const CHILD_ENDS_MS = 2000;

/** What a child yields. One that an earlier, lost workflow of the run has started is still ending: it is started again then. */
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
