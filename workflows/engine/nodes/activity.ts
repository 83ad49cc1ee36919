import { sleep } from "@temporalio/workflow";
import { waitBeforeRetry } from "../../../src/domain/flow/plan/retry.ts";
import { nodeActivities } from "../../activities.ts";
import { NodeFailed, toRunError } from "../failure.ts";
import { address, storedScope } from "../frame.ts";
import type { Executor } from "./executor.ts";

/** Longest time of one attempt where neither node nor kind says (ms). */
const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * A node executed by a regular activity. The node's own failures are retried here, by the node's policy; Temporal retries
 * only what is no fault of the node. The attempts share one idempotency key.
 */
export const executeActivity: Executor = async (frame, node, interpreter) => {
  const { ctx } = frame;
  for (let attempt = 1; ; attempt += 1) {
    interpreter.onAttempt(attempt);
    try {
      const value = await ctx.work.whileBusy(() =>
        ctx.work.withSlot(() =>
          ctx.record.carry((flush) =>
            nodeActivities(ctx.input.node_queue, node.timeout_ms ?? DEFAULT_TIMEOUT_MS).executeNode({
              ...address(frame, node),
              run: ctx.identity,
              progress: ctx.record.progress,
              attempt,
              scope: storedScope(frame, node),
              flush,
            }),
          ),
        ),
      );
      return { value, recorded: true };
    } catch (thrown) {
      const failure = toRunError(thrown, node.id, attempt);
      if (!failure) throw thrown;
      if (!failure.error.retryable || attempt >= node.retry.max_attempts)
        throw new NodeFailed(failure.error, address(frame, node).path);
      await ctx.work.whileBusy(() => sleep(waitBeforeRetry(node.retry, attempt, failure.retryAfterMs)));
    }
  }
};
