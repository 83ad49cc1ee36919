import { namesOf, type Assignees, type Person } from "../../domain/runs/assignees.ts";
import { jsonb } from "../jsonb.ts";
import { plannedAnew, type Db } from "../db.ts";
import { keysetSql, type Keyset } from "../keyset.ts";
import { PAUSE, PAUSES, type PauseRow } from "./pauses.ts";
import { OPEN } from "../states.ts";

export interface PauseFilter {
  readonly status?: PauseRow["status"] | undefined;
  readonly project_id?: string | undefined;
  /** Only pauses of runs in one of these projects. */
  readonly among?: readonly string[] | undefined;
  /** Only pauses that name this person or one of their roles as an assignee. */
  readonly assignee?: Person | undefined;
  /** Only pauses that this principal, a person or null, may still decide. */
  readonly answerable?: { readonly by: string; readonly person: Person | null } | undefined;
}

/** A pause with the flow of its run. */
export type ListedPauseRow = PauseRow & { readonly project_id: string; readonly flow_version: number };

const COLUMNS = `${PAUSE}, r.project_id, r.flow_version`;

/** A page of an organisation's pauses, in the order they were opened. The pauses of a finished run are not open. */
export async function listOrganisationPauses(db: Db, filter: PauseFilter, page: Keyset): Promise<ListedPauseRow[]> {
  const { bound, compare, order } = keysetSql(page);
  const values: unknown[] = [bound, page.limit];
  const add = (value: unknown, type: string): string => `$${values.push(value)}::${type}`;
  const conditions = [`p.org_id = current_org()`, `p.pause_id ${compare} $1::uuid`];
  // A literal, so that the planner uses the index of open ones.
  if (filter.status === "waiting") conditions.push(`p.status = 'waiting' and r.state in (${OPEN})`);
  else if (filter.status !== undefined) conditions.push(`p.status = ${add(filter.status, "text")}`);
  if (filter.project_id !== undefined) conditions.push(`r.project_id = ${add(filter.project_id, "uuid")}`);
  if (filter.among !== undefined) conditions.push(`r.project_id = any (${add(filter.among, "uuid[]")})`);
  const names = (who: Assignees): string =>
    `(p.assignees -> 'users' ?| ${add(who.users, "text[]")} or p.assignees -> 'roles' ?| ${add(who.roles, "text[]")})`;
  if (filter.assignee) conditions.push("p.assignees is not null", names(namesOf(filter.assignee)));
  if (filter.answerable) {
    const { by, person } = filter.answerable;
    conditions.push(
      "p.status = 'waiting' and (p.expires_at is null or p.expires_at > now())",
      person === null ? "p.assignees is null" : `(p.assignees is null or ${names(namesOf(person))})`,
      `not p.received @> ${add(jsonb([{ by }]), "jsonb")}`,
    );
  }
  return db.query(
    plannedAnew(`select ${COLUMNS} from ${PAUSES} join runs r using (run_id) where ${conditions.join(" and ")}
     order by p.pause_id ${order} limit $2::int`),
    values,
  );
}

export async function findPause(db: Db, pauseId: string): Promise<ListedPauseRow | null> {
  return db.first(
    `select ${COLUMNS} from ${PAUSES} join runs r using (run_id)
      where p.org_id = current_org() and p.pause_id = $1::uuid`,
    [pauseId],
  );
}
