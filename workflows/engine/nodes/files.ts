import { sleep } from "@temporalio/workflow";
import { local } from "../../activities.ts";
import { address, storedScope } from "../frame.ts";
import type { Executor } from "./executor.ts";

/** Waits between looks at documents that are still being read (ms). */
const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 2000;

/** The documents uploaded under the run's handle; waits for those that are still being read. */
export const executeFiles: Executor = (frame, node, interpreter) =>
  frame.ctx.work.whileBusy(async () => {
    const { record, work } = frame.ctx;
    const input = {
      ...address(frame, node),
      run: frame.ctx.identity,
      part: "node" as const,
      scope: storedScope(frame, node),
    };
    for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * 2, MAX_POLL_MS)) {
      const { pending, value } = await work.whileBrieflyBusy(() => local.loadDocuments(input));
      if (pending === 0 && value) return { value };
      if (wait === FIRST_POLL_MS) {
        interpreter.announce();
        await record.write();
      }
      await sleep(wait);
    }
  });
