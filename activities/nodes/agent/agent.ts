import type { LlmConfig } from "../../../src/domain/flow/nodes/llm.ts";
import type { AgentPart } from "../../../src/domain/models/agent.ts";
import { keepOutput } from "../../../src/services/models/earlier-answers.ts";
import type { NodeExecution, NodeOutcome } from "../executor.ts";
import { createToolCall, type ToolCallDeps } from "./call-tool.ts";
import { createAgentStep, type AgentStepDeps } from "./step.ts";

/** Executes a part of an `llm` node that calls tools; the workflow combines the parts. */
export type AgentExecutor = (execution: NodeExecution<LlmConfig>, part: AgentPart) => Promise<NodeOutcome>;

export function createAgentExecutor(deps: AgentStepDeps & ToolCallDeps): AgentExecutor {
  const step = createAgentStep(deps);
  const callTool = createToolCall(deps);
  return async (execution, part) => {
    if (part.kind === "step") return step(execution, part);
    const outcome = await callTool(execution, part.call);
    await keepOutput(deps, execution, outcome.output);
    return outcome;
  };
}
