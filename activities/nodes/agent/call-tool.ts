import type { LlmConfig } from "../../../src/domain/flow/nodes/llm.ts";
import type { LlmTool } from "../../../src/domain/flow/nodes/llm-tools.ts";
import { liquidInside } from "../../../src/domain/flow/nodes/spec.ts";
import type { Scope } from "../../../src/domain/flow/scope.ts";
import type { Json, JsonObject } from "../../../src/domain/json.ts";
import { citationsOf } from "../../../src/domain/knowledge/citations.ts";
import type { KnowledgeResult } from "../../../src/domain/knowledge/query.ts";
import type { FoundSources } from "../../../src/domain/knowledge/sources.ts";
import type { AgentCall } from "../../../src/domain/models/agent.ts";
import type { ExecuteAction } from "../../../src/domain/providers/action-run.ts";
import { NodeFailure } from "../../../src/domain/runs/failure.ts";
import { loadValue } from "../../../src/platform/blobs/blobs.ts";
import type { Evaluation } from "../../../src/platform/evaluation/evaluation.ts";
import { redactJson } from "../../../src/platform/logging/redaction.ts";
import type { Parts } from "../../../src/services/parts.ts";
import type { NodeExecution, NodeOutcome } from "../executor.ts";
import type { QueryKnowledge } from "../knowledge.ts";
import { renderInside, renderTemplates } from "../templates.ts";
import { readSkill } from "./skills.ts";

export interface ToolCallDeps extends Parts<"db" | "blobs" | "evaluation"> {
  readonly executeAction: ExecuteAction;
  readonly query: QueryKnowledge;
}

type ToolCall = (execution: NodeExecution<LlmConfig>, call: AgentCall) => Promise<NodeOutcome>;

/** Executes a tool call. The model's arguments are data: they are never rendered, and they never replace a fixed input. */
export function createToolCall({ db, blobs, evaluation, executeAction, query }: ToolCallDeps): ToolCall {
  return async (execution, call) => {
    const { org_id, config, scope, idempotency_key, signal } = execution;
    const given = (await loadValue(blobs, call.arguments)) as JsonObject;
    const tool = call.tool === null ? undefined : config.tools?.[call.tool];
    const inputs =
      call.edited_from === undefined
        ? { tool: call.name, arguments: given }
        : { tool: call.name, arguments: await loadValue(blobs, call.edited_from), edited: given };
    if (call.skill !== undefined) return { output: await readSkill({ db, blobs }, org_id, call.skill, given), inputs };
    switch (tool?.type) {
      case "action":
      case "mcp": {
        const fixed = tool.type === "action" ? await fixedInputs(evaluation, org_id, tool, scope) : {};
        const { outputs, rendered_request } = await executeAction({
          org_id,
          provider_id: tool.provider_id,
          action_id: tool.type === "action" ? tool.action_id : (call.action_id ?? ""),
          connection_id: tool.connection_id ?? null,
          inputs: { ...given, ...fixed },
          rendered: true,
          version: execution,
          idempotency_key,
          signal,
        });
        return { output: outputs, inputs: { ...inputs, request: redactJson(rendered_request) } };
      }
      case "knowledge":
        return {
          output: passagesOf(
            tool.knowledge_base_id,
            await query(org_id, tool.knowledge_base_id, { ...given, top_k: tool.top_k }, signal),
          ),
          inputs,
        };
      default:
        throw new NodeFailure("internal_error", `The tool ${call.name} is not called by an activity.`);
    }
  };
}

/** The part of a search's result that is kept: the passages with their numbers and sources. */
function passagesOf(knowledgeBaseId: string, answer: Json): Json {
  const { text, results } = answer as unknown as { text: string; results: readonly KnowledgeResult[] };
  const found: FoundSources = { text, citations: citationsOf(knowledgeBaseId, results) };
  return found as unknown as Json;
}

/**
 * The action's inputs that the flow, not the model, determines. A template's text is parsed as JSON if the schema does
 * not expect a string.
 */
export async function fixedInputs(
  evaluation: Evaluation,
  orgId: string,
  { fixed_inputs }: Extract<LlmTool, { type: "action" }>,
  scope: Scope,
): Promise<JsonObject> {
  const templates = liquidInside(fixed_inputs);
  if (templates.length === 0) return fixed_inputs;
  return renderInside(fixed_inputs, await renderTemplates(evaluation, orgId, templates, scope)) as JsonObject;
}
