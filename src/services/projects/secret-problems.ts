import type { FlowDefinition } from "../../domain/flow/definition/definition.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import { nodePath } from "../../domain/flow/validate/problems.ts";
import type { JsonObject } from "../../domain/json.ts";
import { literalHeaders } from "../../platform/logging/literal-secrets.ts";

/** A warning for each header with a credential that was written into the flow. */
export function secretProblems(definition: FlowDefinition): FlowProblem[] {
  return literalHeaders(definition as unknown as JsonObject).map((path): FlowProblem => {
    const node_path = nodePath(definition, path);
    return {
      code: "secret_in_flow",
      severity: "warning",
      node_id: node_path?.split("/").at(-1) ?? null,
      node_path,
      path,
      message: `Header ${path.at(-1)} contains a credential. Every flow version stores it and every editor can read it`,
      hint: "Store it in a connection (POST /v2/connections) of the provider http, and send the request with an action node",
    };
  });
}
