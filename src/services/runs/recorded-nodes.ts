import { NODE_SPECS, nodeHandles } from "../../domain/flow/nodes/index.ts";
import type { Plan, PlanNode } from "../../domain/flow/plan/types.ts";
import { isObject, type Json, type StoredValue } from "../../domain/json.ts";
import type { CheckpointNode } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { recordedValues } from "../../stores/runs/node-runs.ts";

/** The completed top-level nodes in a run's record, with their values and chosen branches. */
export async function recordedNodes(
  db: Database,
  { org_id, run_id }: { readonly org_id: string; readonly run_id: string },
  plan: Plan,
): Promise<Record<string, CheckpointNode>> {
  // Recorded values of a flow that redacts may be masked, so none can be reused.
  if ((plan.settings.redact ?? []).length > 0) return {};
  const nodes = new Map(plan.nodes.map((node) => [node.id, node]));
  const values = await db.org(org_id, (connection) => recordedValues(connection, run_id));
  return Object.fromEntries(
    values.flatMap(({ node_id, value }) => {
      const node = nodes.get(node_id);
      // Conditions are evaluated again, because that is cheap and their data may have changed.
      const handles = node && node.type !== "condition" ? handlesOf(node, value) : null;
      return handles ? [[node_id, { value, handles, state: "COMPLETED" as const }]] : [];
    }),
  );
}

/** The branch that a node has chosen; null if its value does not name one. */
export function handlesOf(node: PlanNode, value: StoredValue): readonly string[] | null {
  const { type, config, on_error } = node;
  if (nodeHandles(NODE_SPECS[type], config, on_error).every((handle) => handle === "out" || handle === "error"))
    return ["out"];
  const told = "v" in value ? value.v : null;
  if (type === "approval") return chosen(told, "action", (action) => action);
  if (type === "router" || type === "condition")
    return chosen(told, "matched", (matched) => (matched === "else" ? "else" : `case:${matched}`));
  return null;
}

function chosen(value: Json, member: string, handle: (word: string) => string): readonly string[] | null {
  const word = isObject(value) ? value[member] : undefined;
  return typeof word === "string" ? [handle(word)] : null;
}
