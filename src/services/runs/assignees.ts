import { roleAllows, type Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { answererOf, assigneesText, isAssignee, type Answerer, type Person } from "../../domain/runs/assignees.ts";
import { personOf } from "../accounts/people.ts";
import type { Db } from "../../stores/db.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";

/**
 * Throws 403 if a pause has assignees and the caller is not one of them, whatever the caller's role. An API key is
 * never an assignee, nor is a visitor of a page.
 */
export async function requireAssignee(db: Db, pause: PauseRow, principal: Answerer): Promise<void> {
  const { assignees, pause_id } = pause;
  if (assignees === null) return;
  const person = await personOf(db, principal);
  if (person && isAssignee(assignees, person)) return;
  const who = assigneesText(assignees);
  const detail = person
    ? `Only these assignees can answer this pause: ${who}.`
    : `Only these assignees can answer this pause: ${who}. API keys cannot.`;
  throw new Problem("not_an_assignee", detail, { extra: { pause_id, assignees } });
}

/**
 * Whether the caller could answer a pause now: the pause is open, the role suffices, the caller is an assignee if there
 * are any, and has not answered yet.
 */
export function mayAnswer(pause: PauseRow, principal: Principal, person: Person | null): boolean {
  const { status, expires_at, assignees, received } = pause;
  return (
    status === "waiting" &&
    (expires_at === null || Date.parse(expires_at) > Date.now()) &&
    roleAllows(principal.role, "editor") &&
    (assignees === null || (person !== null && isAssignee(assignees, person))) &&
    !received.some(({ by }) => by === answererOf(principal))
  );
}
