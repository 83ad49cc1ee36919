import { workflowInfo } from "@temporalio/workflow";
import type { ApprovalConfig } from "../../../src/domain/flow/nodes/approval.ts";
import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import type { Json } from "../../../src/domain/json.ts";
import type { PauseKind, PauseResolution } from "../../../src/domain/runs/run.ts";
import { local } from "../../activities.ts";
import { passedBefore } from "../frame.ts";
import { evaluate } from "../values.ts";
import { nodeUuid7 } from "../ids.ts";
import type { Executor } from "./executor.ts";

/** Opens a pause. Continues with a person's decision, or with the node's `on_timeout` if no one decides in time. */
export const executeApproval: Executor<"approval"> = async (frame, node, interpreter) => {
  const { ctx } = frame;
  const { config } = node;
  const { value } = await evaluate(frame, node, "approval");
  if (!("v" in value)) {
    throw new NodeFailure(
      "pause_too_large",
      "The message and data of an approval can have at most 64 KiB together. Show less, or a link.",
    );
  }
  const { message, data } = value.v as { message: string; data: Json };
  const startedAt = Date.now();
  const expiresInMs =
    config.expires_in_seconds === undefined
      ? null
      : Math.max(0, config.expires_in_seconds * 1000 - passedBefore(frame, node));
  const path = frame.prefix + node.id;
  const pause_id = nodeUuid7(ctx.identity.run_id, path);
  interpreter.announce("PAUSED");
  const answer = await ctx.pauses.wait(
    {
      pause_id,
      workflow_id: workflowInfo().workflowId,
      node_id: node.id,
      path,
      kind: pauseKind(config),
      message,
      data,
      form: (config.form as Json | undefined) ?? null,
      actions: config.actions.map(({ id, label }) => ({ id, ...(label === undefined ? {} : { label }) })),
      required_approvals: config.required_approvals,
      assignees: config.assignees ?? null,
      expires_at: expiresInMs === null ? null : new Date(startedAt + expiresInMs).toISOString(),
      on_timeout: config.on_timeout,
      shown_in: (ctx.input.parent?.runs ?? []).map(({ run_id, prefix }) => ({ run_id, path: prefix + path })),
    },
    expiresInMs,
  );
  const resolution = answer ?? (await ctx.work.whileLocalActivityRuns(() => expire(pause_id)));
  ctx.record.pauseTaken(pause_id);
  if (resolution.action === "timeout" && config.on_timeout === "fail") {
    throw new NodeFailure("pause_expired", `No one answered within ${config.expires_in_seconds} seconds.`);
  }
  const decided = { v: { action: resolution.action, data: resolution.data, by: resolution.by, at: resolution.at } };
  interpreter.complete(decided);
  // Written immediately, because the sweeper sends the answer again until the record says that it has arrived.
  await ctx.record.flush();
  return { value: decided, handles: [resolution.action], recorded: true };

  /** Expires the pause, unless its row already has an answer. */
  async function expire(pauseId: string): Promise<PauseResolution> {
    const at = new Date(Date.now()).toISOString();
    const action = config.on_timeout === "fail" || config.on_timeout === "branch" ? "timeout" : config.on_timeout;
    const byDefault: PauseResolution = { action, data: null, comment: null, by: null, at };
    const result = await local.expirePause({
      run: ctx.identity,
      progress: ctx.record.progress,
      pause_id: pauseId,
      resolution: byDefault,
    });
    return result.resolution ?? byDefault;
  }
};

function pauseKind(config: ApprovalConfig): PauseKind {
  if (config.form) return "form";
  const ids = config.actions.map(({ id }) => id);
  return ids.length === 2 && ids.includes("approve") && ids.includes("reject") ? "approval" : "choice";
}
