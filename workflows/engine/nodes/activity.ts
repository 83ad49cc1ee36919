import { sleep } from "@temporalio/workflow";
import { retryDelayMs } from "../../../src/domain/flow/plan/retry.ts";
import type { PlanNode } from "../../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../../src/domain/json.ts";
import type { AgentPart } from "../../../src/domain/models/agent.ts";
import { nodeActivities } from "../../activities.ts";
import { NodeFailed, toRunError } from "../failure.ts";
import { address, type Frame } from "../frame.ts";
import { activityScope } from "../chain.ts";
import type { Executor } from "./executor.ts";

/** Executes a node in a regular activity. */
export const executeActivity: Executor = async (frame, node, interpreter) => {
  const onAttempt = (attempt: number): void => interpreter.onAttempt(attempt);
  return { value: await runActivity(frame, node, address(frame, node).path, onAttempt), recorded: true };
};

/**
 * Executes a node or a part of one, and records it at `path`. A node's own failures are retried by its policy: after a short wait within
 * the activity, after a longer one here. Temporal retries only outages and bugs. All attempts share one idempotency key.
 */
export async function runActivity(
  frame: Frame,
  node: PlanNode,
  path: string,
  onAttempt: (attempt: number) => void,
  part?: AgentPart,
): Promise<StoredValue> {
  const { ctx } = frame;
  let attempt = 1;
  for (;;) {
    onAttempt(attempt);
    try {
      if (part === undefined && ctx.ahead.has(path)) return ctx.ahead.take(path);
      const { given, timeoutMs } = activityScope(frame, node);
      const result = await ctx.work.whileActivityRuns(() =>
        ctx.record.carry((flush) =>
          nodeActivities(ctx.input.node_queue, timeoutMs).executeNode({
            ...address(frame, node),
            path,
            run: ctx.identity,
            progress: ctx.record.progress,
            attempt,
            flush,
            ...(ctx.sliced ? { sliced: true as const } : {}),
            ...given,
            ...(part === undefined ? {} : { part }),
          }),
        ),
      );
      return ctx.ahead.keep(result);
    } catch (thrown) {
      const failure = toRunError(thrown, { node_id: node.id, path }, attempt);
      if (!failure) throw thrown;
      const { error, retryAfterMs } = failure;
      if (!error.retryable || error.attempt >= node.retry.max_attempts) throw new NodeFailed(error, path);
      await ctx.work.whileBusy(() => sleep(retryDelayMs(node, error.attempt, retryAfterMs)));
      // The activity may have made several attempts itself.
      attempt = error.attempt + 1;
    }
  }
}
