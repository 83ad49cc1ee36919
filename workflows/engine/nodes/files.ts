import { sleep } from "@temporalio/workflow";
import { local } from "../../activities.ts";
import { address, storedScope } from "../frame.ts";
import type { Executor } from "./executor.ts";

/**
 * Intervals between checks of documents that are still being processed (ms). They grow, so that a wait of hours does not fill the history.
 */
const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 2000;
const MAX_LATE_POLL_MS = 60_000;
/** After this many checks, the interval may exceed two seconds. */
const QUICK_POLLS = 60;

function nextWait(wait: number, polls: number): number {
  return Math.min(wait * 2, polls < QUICK_POLLS ? MAX_POLL_MS : MAX_LATE_POLL_MS);
}

/** The documents uploaded for the run's user ID. Waits for documents that are still being processed. */
export const executeFiles: Executor = (frame, node, interpreter) =>
  frame.ctx.work.whileBusy(async () => {
    const { record, work } = frame.ctx;
    const input = {
      ...address(frame, node),
      run: frame.ctx.identity,
      part: "node" as const,
      scope: storedScope(frame, node),
    };
    for (let wait = FIRST_POLL_MS, polls = 1; ; wait = nextWait(wait, polls), polls += 1) {
      const { pending, value } = await work.whileLocalActivityRuns(() => local.loadDocuments(input));
      if (pending === 0 && value) return { value };
      if (wait === FIRST_POLL_MS) {
        interpreter.announce();
        await record.write();
      }
      await sleep(wait);
    }
  });
