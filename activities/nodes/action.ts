import { actionSpec, type ActionConfig } from "../../src/domain/flow/nodes/action.ts";
import type { ExecuteAction } from "../../src/domain/providers/action-run.ts";
import { redactJson } from "../../src/platform/logging/redaction.ts";
import type { Parts } from "../../src/services/parts.ts";
import type { NodeExecutor } from "./executor.ts";
import { renderInside, renderTemplates } from "./templates.ts";

export interface ActionNodeDeps extends Parts<"evaluation"> {
  readonly executeAction: ExecuteAction;
}

/**
 * Executes `action` nodes. A retry of the node is the same call, so an action that must not happen twice happens once.
 */
export function createActionNodeExecutor({ evaluation, executeAction }: ActionNodeDeps): NodeExecutor<ActionConfig> {
  return async (execution) => {
    const { org_id, config, scope, idempotency_key, signal } = execution;
    const { provider_id, action_id, connection_id = null } = config;
    const rendered = await renderTemplates(evaluation, org_id, actionSpec.expressions(config), scope);
    const inputs = renderInside(config.inputs, rendered);
    const wanted = { org_id, provider_id, action_id, connection_id, inputs, rendered: true, idempotency_key, signal };
    const { outputs, rendered_request } = await executeAction({ ...wanted, version: execution });
    return { output: outputs, inputs: { provider_id, action_id, request: redactJson(rendered_request) } };
  };
}
