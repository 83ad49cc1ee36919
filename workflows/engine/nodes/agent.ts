import { CancellationScope, isCancellation } from "@temporalio/workflow";
import type { PlanNodeOf } from "../../../src/domain/flow/plan/types.ts";
import type { Json, StoredValue } from "../../../src/domain/json.ts";
import {
  stepPath,
  type AgentCall,
  type AgentStep,
  type AgentStepPart,
  type ToolAnswer,
} from "../../../src/domain/models/agent.ts";
import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import { NodeFailed } from "../failure.ts";
import { address, earlierRunOf, type Frame } from "../frame.ts";
import { runActivity } from "./activity.ts";
import { callTool } from "./agent-tool.ts";
import { reportPart } from "./agent-record.ts";
import type { Executor } from "./executor.ts";

/**
 * An `llm` node with tools. The model is called, its tool calls are made concurrently, and it is called again with the results, until it
 * answers. Each step and each tool call is an activity or a child run, so that a finished one is not repeated if a process dies.
 */
export const executeAgent: Executor<"llm"> = async (frame, node, interpreter) => {
  const { max_steps } = node.config;
  interpreter.announce();
  const earlierRun = earlierRunOf(frame, node);
  const earlier = earlierRun === undefined ? {} : { earlier_run: earlierRun };
  let conversation: StoredValue | null = null;
  let answers: readonly ToolAnswer[] = [];
  let made = 0;
  for (let step = 1; step <= max_steps; step += 1) {
    const part: AgentStepPart = { kind: "step", step, conversation, answers, calls_before: made, ...earlier };
    const outcome = await runStep(frame, node, part, (attempt) => interpreter.onAttempt(attempt));
    if (outcome.value) return { value: outcome.value };
    // After the last step, no model call could read the results.
    if (step < max_steps) answers = await callTools(frame, node, outcome.calls, made);
    made += outcome.calls.length;
    ({ conversation } = outcome);
  }
  throw new NodeFailure(
    "tool_steps_exhausted",
    `The model did not answer within ${max_steps} steps. Raise the node's max_steps, give it fewer tools, or ask a narrower question.`,
  );
};

async function runStep(
  frame: Frame,
  node: PlanNodeOf<"llm">,
  part: AgentStepPart,
  onAttempt: (attempt: number) => void,
): Promise<AgentStep> {
  const { path } = address(frame, node);
  const at = stepPath(path, part.step);
  const startedAt = new Date(Date.now()).toISOString();
  try {
    const result = await runActivity(frame, node, at, onAttempt, part);
    return ("v" in result ? result.v : null) as unknown as AgentStep & Json;
  } catch (error) {
    // A failed step fails the whole node, so the error names the node's path.
    if (error instanceof NodeFailed) throw new NodeFailed({ ...error.error, path });
    if (isCancellation(error)) reportPart(frame, node, { type: node.type, path: at, startedAt, state: "CANCELLED" });
    throw error;
  }
}

/** Makes tool calls concurrently; a failed call is a result. Throws if the run is cancelled, or for an internal error. */
async function callTools(
  frame: Frame,
  node: PlanNodeOf<"llm">,
  calls: readonly AgentCall[],
  before: number,
): Promise<readonly ToolAnswer[]> {
  const scope = new CancellationScope();
  return scope.run(async () => {
    const made = calls.map((call, at) => callTool(frame, node, call, before + at));
    try {
      return await Promise.all(made);
    } catch (error) {
      scope.cancel();
      await Promise.allSettled(made);
      throw error;
    }
  });
}
