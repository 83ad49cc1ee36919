import type { ModelChoice } from "../../src/domain/models/choose.ts";
import type { ModelCall } from "../../src/services/models/call-model.ts";
import type { NodeExecution } from "./executor.ts";

type Account = Pick<
  ModelCall,
  "org_id" | "project_id" | "run_id" | "path" | "attempt" | "repeated" | "choice" | "signal"
>;

/** The model that a node calls, and the account that pays for it. */
export function accountOf(execution: NodeExecution<ModelChoice>): Account {
  const { org_id, project_id, run_id, path, attempt, repeated = false, signal, config } = execution;
  const { model, connection_id } = config;
  return { org_id, project_id, run_id, path, attempt, repeated, signal, choice: { model, connection_id } };
}
