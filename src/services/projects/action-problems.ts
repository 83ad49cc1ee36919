import type { FlowReference, FlowAsked } from "../../domain/flow/references.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import { findActions } from "../providers/providers.ts";
import type { Db } from "../../stores/db.ts";
import { roleAllows } from "../../domain/accounts/principal.ts";
import { peopleByName } from "../accounts/people.ts";

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

/**
 * Problems with the people that a flow names: unknown users, too few of them, and (as a warning) users who currently
 * may not decide. `projectId`, if known, is the flow's project.
 */
export async function assigneeProblems(
  db: Db,
  asks: readonly FlowAsked[],
  projectId: string | undefined,
): Promise<FlowProblem[]> {
  const names = [...new Set(asks.flatMap(({ assignees }) => assignees.users))].toSorted();
  const byName = await peopleByName(db, names, projectId);
  return asks.flatMap((asked) => problemsOf(asked, byName));
}

type People = Awaited<ReturnType<typeof peopleByName>>;
type NamedUser = NonNullable<ReturnType<People["get"]>>;

function problemsOf(asked: FlowAsked, byName: People): FlowProblem[] {
  const { assignees, required_approvals, node_id, node_path } = asked;
  const problem = (
    fault: Pick<FlowProblem, "code" | "severity" | "message" | "hint">,
    ...place: ReadonlyArray<string | number>
  ): FlowProblem => ({ node_id, node_path, path: [...asked.path, ...place], ...fault });
  const ofUsers = assignees.users.flatMap((name, at): FlowProblem[] => {
    const user = byName.get(name);
    if (!user) {
      const message = `User ${name} not found in the organisation`;
      const hint = "GET /v2/users lists the users";
      return [problem({ code: "unknown_user", severity: "error", message, hint }, "users", at)];
    }
    const hindrance = cannotAnswer(user);
    if (hindrance === null) return [];
    const message = `${name} ${hindrance} and cannot answer`;
    return [problem({ code: "assignee_cannot_answer", severity: "warning", message, hint: null }, "users", at)];
  });
  const people = new Set(assignees.users.map((name) => byName.get(name)?.user_id ?? name));
  if (assignees.roles.length > 0 || people.size >= required_approvals) return ofUsers;
  const message = `${required_approvals} people must choose the same action, but only ${people.size} may answer`;
  const hint = "Name more people, or require fewer approvals";
  return [...ofUsers, problem({ code: "too_few_assignees", severity: "error", message, hint }, "users")];
}

function cannotAnswer({ role, project_role, disabled_at }: NamedUser): string | null {
  if (disabled_at !== null) return "is disabled";
  return [role, project_role ?? role].some((each) => roleAllows(each, "editor")) ? null : `has the role ${role}`;
}
