import { NODE_SPECS, nodeHandles } from "../../domain/flow/nodes/index.ts";
import type { Plan, PlanNode } from "../../domain/flow/plan/types.ts";
import type { Json, JsonObject, StoredValue } from "../../domain/json.ts";
import type { CheckpointNode } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { recordedValues } from "../../stores/runs/node-runs.ts";

/** What the record tells of the nodes of a run's top level that have completed: their values, and which way they have chosen. */
export async function recordedNodes(
  db: Database,
  { org_id, run_id }: { readonly org_id: string; readonly run_id: string },
  plan: Plan,
): Promise<Record<string, CheckpointNode>> {
  // What the record has is masked.
  if ((plan.settings.redact ?? []).length > 0) return {};
  const nodes = new Map(plan.nodes.map((node) => [node.id, node]));
  const values = await db.org(org_id, (client) => recordedValues(client, run_id));
  return Object.fromEntries(
    values.flatMap(({ node_id, value }) => {
      const node = nodes.get(node_id);
      const handles = node && handlesOf(node, value);
      return handles ? [[node_id, { value, handles, state: "COMPLETED" as const }]] : [];
    }),
  );
}

/** The way that a node has chosen; null where its value does not tell. */
function handlesOf(node: PlanNode, value: StoredValue): readonly string[] | null {
  const { type, config, on_error } = node;
  if (nodeHandles(NODE_SPECS[type], config, on_error).every((handle) => handle === "out" || handle === "error"))
    return ["out"];
  const told = "v" in value ? value.v : null;
  if (type === "approval") return chosen(told, "action", (action) => action);
  if (type === "router") return chosen(told, "matched", (matched) => (matched === "else" ? "else" : `case:${matched}`));
  return null;
}

function chosen(value: Json, member: string, handle: (word: string) => string): readonly string[] | null {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  const word = (value as JsonObject)[member];
  return typeof word === "string" ? [handle(word)] : null;
}
