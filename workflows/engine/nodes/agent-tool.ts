import { isCancellation, workflowInfo } from "@temporalio/workflow";
import type { PlanNodeOf } from "../../../src/domain/flow/plan/types.ts";
import { jsonLength, type Json, type StoredValue } from "../../../src/domain/json.ts";
import { toolPath, type AgentCall, type ReusedAnswer, type ToolAnswer } from "../../../src/domain/models/agent.ts";
import type { RunError } from "../../../src/domain/runs/run.ts";
import { statusIn } from "../../../src/domain/runs/failure.ts";
import { NodeFailed, toRunError } from "../failure.ts";
import { address, type Frame } from "../frame.ts";
import { nodeUuid7 } from "../ids.ts";
import { runActivity } from "./activity.ts";
import { reportPart, type PartReport } from "./agent-record.ts";
import { runChild } from "./subflow.ts";

/** Longest arguments (characters of JSON) of a call that needs approval, because a person must see them completely. */
const MAX_SHOWN_CHARS = 48 * 1024;

/**
 * Makes a tool call, after a person's approval if required. A failure or refusal of the call becomes its answer to the model; an internal
 * error of Millrace is thrown.
 */
export async function callTool(
  frame: Frame,
  node: PlanNodeOf<"llm">,
  call: AgentCall,
  index: number,
): Promise<ToolAnswer> {
  const path = toolPath(address(frame, node).path, index);
  const startedAt = new Date(Date.now()).toISOString();
  let made = call;
  const note = (what: Pick<PartReport, "state" | "value" | "error">): void => {
    const edited = made !== call && "v" in made.arguments ? { edited: made.arguments.v } : {};
    const inputs = "v" in call.arguments ? { inputs: { tool: call.name, arguments: call.arguments.v, ...edited } } : {};
    reportPart(frame, node, { type: call.type, path, startedAt, ...inputs, ...what });
  };
  const failed = (error: RunError, isRecorded: boolean): ToolAnswer => {
    if (!isRecorded) note({ state: "FAILED", error });
    const { code, message, retryable } = error;
    return { output: { v: { error: { code, message, retryable } } }, failed: true };
  };
  const refused = (code: string, message: string): ToolAnswer =>
    failed({ code, message, node_id: node.id, path, attempt: 1, retryable: false }, false);

  if (call.reused) return reuse(frame, node, call, path, call.reused);
  if (call.refused) return refused(call.refused.code, call.refused.message);
  try {
    if (call.approval) {
      const shown = "v" in call.arguments ? call.arguments.v : null;
      if (shown === null || jsonLength(shown) > MAX_SHOWN_CHARS)
        return refused(
          "arguments_too_long",
          "This call needs an approval, but its arguments are too long to be shown.",
        );
      note({ state: "PAUSED" });
      const decision = await askPerson(frame, node, call, path, shown);
      if (decision.rejected !== undefined) return refused("tool_call_rejected", decision.rejected);
      // The person may have changed the arguments, so the record keeps both versions.
      if (decision.edited !== null) made = { ...call, arguments: { v: decision.edited }, edited_from: call.arguments };
    }
    if (call.type !== "subflow")
      return {
        output: await runActivity(frame, node, path, () => undefined, { kind: "tool", call: made }),
        failed: false,
      };
    note({ state: "RUNNING" });
    const value = await runTool(frame, node, made, path);
    note({ state: "COMPLETED", value });
    return { output: value, failed: false };
  } catch (error) {
    const known = toRunError(error, { node_id: node.id, path }, 1);
    if (!known) {
      if (isCancellation(error)) note({ state: "CANCELLED" });
      throw error;
    }
    if (known.error.code === "internal_error") throw error;
    return failed(known.error, error instanceof NodeFailed && error.recordedAt === path);
  }
}

/** Records the result of a tool call that is reused from the run that this one resumes. */
function reuse(frame: Frame, node: PlanNodeOf<"llm">, call: AgentCall, path: string, reused: ReusedAnswer): ToolAnswer {
  const { output, failed, edited, upstream_status } = reused;
  const made = "v" in call.arguments ? call.arguments.v : null;
  const inputs = { tool: call.name, arguments: made, ...(edited === undefined ? {} : { edited }) };
  const part = { type: call.type, path, startedAt: null, inputs, reused: true };
  if (failed) {
    const { error } = ("v" in output ? output.v : {}) as { error?: Pick<RunError, "code" | "message" | "retryable"> };
    const cause = error ?? { code: "tool_failed", message: "The call failed in an earlier run.", retryable: false };
    const known = { ...cause, ...statusIn(upstream_status), node_id: node.id, path, attempt: 1 };
    reportPart(frame, node, { ...part, state: "FAILED", error: known });
  } else reportPart(frame, node, { ...part, state: "COMPLETED", value: output });
  return { output, failed };
}

/** Runs another project's flow as a tool, with the call's arguments as its inputs. */
async function runTool(frame: Frame, node: PlanNodeOf<"llm">, call: AgentCall, path: string): Promise<StoredValue> {
  const tool = node.config.tools?.[call.tool ?? -1];
  if (tool?.type !== "subflow") throw new Error(`the tool ${call.name} is not a flow`);
  const { project_id, version, environment } = tool;
  return runChild(frame, node, { path, inputs: call.arguments, called: { project_id, version, environment } });
}

/** A person's decision: make the call, possibly with other arguments, or send this refusal to the model. */
interface Decision {
  readonly rejected?: string;
  readonly edited: Json;
}

/** Pauses the run until a person decides. */
async function askPerson(
  frame: Frame,
  node: PlanNodeOf<"llm">,
  call: AgentCall,
  path: string,
  shown: Json,
): Promise<Decision> {
  const { ctx } = frame;
  const pause_id = nodeUuid7(ctx.identity.run_id, path);
  const answer = await ctx.pauses.wait(
    {
      pause_id,
      workflow_id: workflowInfo().workflowId,
      node_id: node.id,
      path,
      kind: "approval",
      message: `${node.name ?? node.id} requests approval to call ${call.name}.`,
      data: { tool: call.name, arguments: shown },
      form: null,
      actions: [{ id: "approve" }, { id: "reject" }],
      required_approvals: 1,
      assignees: node.config.tools?.[call.tool ?? -1]?.assignees ?? null,
      expires_at: null,
      on_timeout: "fail",
      shown_in: (ctx.input.parent?.runs ?? []).map(({ run_id, prefix }) => ({ run_id, path: prefix + path })),
    },
    null,
  );
  ctx.record.pauseTaken(pause_id);
  // Written immediately, because the sweeper sends the answer again until the record says that it has arrived.
  await ctx.record.flush();
  if (answer?.action === "approve") return { edited: answer.data };
  return { rejected: `The approver rejected this call${answer?.comment ? `: ${answer.comment}` : "."}`, edited: null };
}
