import type { FlowReference } from "../../domain/flow/references.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import { findActions } from "../providers/providers.ts";
import type { Db } from "../../stores/db.ts";

/**
 * Finds what would make every call of an action fail: a missing connection, unknown inputs, missing inputs.
 * `referenceProblems` reports missing actions.
 */
export async function actionProblems(db: Db, references: readonly FlowReference[]): Promise<FlowProblem[]> {
  const problems: FlowProblem[] = [];
  const used = references.flatMap(({ use, id }) => (use === undefined ? [] : [id]));
  const found = await findActions(db, used);
  for (const reference of references) {
    const { use } = reference;
    if (use === undefined) continue;
    const named = found.get(reference.id);
    if (named === undefined) continue;
    const { provider, action } = named;
    const { provider_id } = provider;
    if (reference.kind === "action" && action === null) continue;
    const needsConnection = action?.requires_connection ?? (provider.source === "mcp" && provider.auth.required);
    if (needsConnection && !use.connected) {
      const message = `${action?.name ?? provider.name} needs a connection of provider ${provider_id}`;
      problems.push(
        problemAt(reference, ["connection_id"], "connection_required", message, "Create one with POST /v2/connections"),
      );
    }
    if (action === null || use.inputs === undefined) continue;
    const { names, member, all } = use.inputs;
    const { properties = {}, required = [], additionalProperties } = action.input_schema;
    const known = Object.keys(properties as object);
    for (const name of names) {
      if (additionalProperties !== false || known.includes(name)) continue;
      const message = `${action.name} has no input ${name}: ${known.length === 0 ? "it has no inputs" : `its inputs are ${known.slice(0, 20).join(", ")}`}`;
      problems.push(problemAt(reference, [member, name], "unknown_input", message));
    }
    const missing = all ? (required as readonly string[]).filter((name) => !names.includes(name)) : [];
    for (const name of missing) {
      const message = `${action.name} needs the input ${name}`;
      problems.push(problemAt(reference, [member, name], "missing_input", message));
    }
  }
  return problems;
}

/** A problem at `place`, the path of a sibling of the reference within its node or tool. */
function problemAt(
  { node_id, node_path, path, kind }: FlowReference,
  place: readonly string[],
  code: FlowProblem["code"],
  message: string,
  hint: string | null = null,
): FlowProblem {
  // In a tool with several actions, the reference is an element of a list, one level deeper.
  const depth = kind === "action" && typeof path.at(-1) === "number" ? 2 : 1;
  const at = [...path.slice(0, path.length - depth), ...place];
  return { node_id, node_path, path: at, code, severity: "error", message, hint };
}
