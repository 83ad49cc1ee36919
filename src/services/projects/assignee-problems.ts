import { roleAllows } from "../../domain/accounts/principal.ts";
import type { FlowAsked } from "../../domain/flow/references.ts";
import type { FlowProblem } from "../../domain/flow/validate/problems.ts";
import type { Db } from "../../stores/db.ts";
import { peopleByName } from "../accounts/people.ts";

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
