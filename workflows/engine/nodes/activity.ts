import { sleep } from "@temporalio/workflow";
import { DEFAULT_NODE_TIMEOUT_MS, retryDelayMs } from "../../../src/domain/flow/plan/retry.ts";
import type { PlanNode } from "../../../src/domain/flow/plan/types.ts";
import type { StoredValue } from "../../../src/domain/json.ts";
import type { AgentPart } from "../../../src/domain/models/agent.ts";
import { nodeActivities } from "../../activities.ts";
import { NodeFailed, toRunError } from "../failure.ts";
import { address, storedScope } from "../frame.ts";
import type { Frame } from "../frame.ts";
import type { Executor } from "./executor.ts";

/** A node executed by a regular activity. */
export const executeActivity: Executor = async (frame, node, interpreter) => {
  const onAttempt = (attempt: number): void => interpreter.onAttempt(attempt);
  return { value: await runActivity(frame, node, address(frame, node).path, onAttempt), recorded: true };
};

/**
 * Executes a node, or a part of one, whose record is then at `path`. The node's policy retries the node's own
 * failures: after a short wait in the activity, after a longer wait here. Temporal retries only outages and bugs. The
 * attempts share one idempotency key.
 */
export async function runActivity(
  frame: Frame,
  node: PlanNode,
  path: string,
  onAttempt: (attempt: number) => void,
  part?: AgentPart,
): Promise<StoredValue> {
  const { ctx } = frame;
  for (let attempt = 1; ; attempt += 1) {
    onAttempt(attempt);
    try {
      return await ctx.work.whileActivityRuns(() =>
        ctx.record.carry((flush) =>
          nodeActivities(ctx.input.node_queue, node.timeout_ms ?? DEFAULT_NODE_TIMEOUT_MS).executeNode({
            ...address(frame, node),
            path,
            run: ctx.identity,
            progress: ctx.record.progress,
            attempt,
            scope: storedScope(frame, node),
            flush,
            ...(part === undefined ? {} : { part }),
          }),
        ),
      );
    } catch (thrown) {
      const failure = toRunError(thrown, { node_id: node.id, path }, attempt);
      if (!failure) throw thrown;
      // The activity itself may have made further attempts.
      ({ attempt } = failure.error);
      if (!failure.error.retryable || attempt >= node.retry.max_attempts) throw new NodeFailed(failure.error, path);
      await ctx.work.whileBusy(() => sleep(retryDelayMs(node, attempt, failure.retryAfterMs)));
    }
  }
}
