import { ROLES, highestRole, roleAllows, roleIn, type Principal, type Role } from "../../domain/accounts/principal.ts";
import { Problem, notFound } from "../../domain/errors.ts";
import { findOwningProject, type ProjectOwned } from "../../services/projects/projects.ts";
import type { Database } from "../../stores/db.ts";
import type { Operation } from "../http/operation.ts";
import { restricted } from "./key-limits.ts";
import { neededRole } from "./operation-scope.ts";

/** Operations whose query or body names the one project they act on. For all others, only the path determines the project. */
const NAMED_IN_REQUEST: readonly string[] = [
  "callMcp",
  "createRun",
  "createTrigger",
  "evaluateExpression",
  "getRunStatistics",
  "listPauses",
  "listRuns",
  "listTriggers",
  "uploadDocument",
  "uploadDocumentOlderName",
  "validateFlow",
];

/**
 * Operations that name no project and are open to every role: lists limited to the projects the caller may see, and operations about the
 * caller or about nothing in the organisation. Any other operation is closed to members.
 */
const FOR_MEMBERS: readonly string[] = [
  "closeSession",
  "endSession",
  "evaluateExpression",
  "getFlowSchema",
  "getLimits",
  "getMe",
  "getRunStatistics",
  "listNodeKinds",
  "listPauses",
  "listProjects",
  "listRuns",
  "listSessions",
  "listTriggers",
  "validateFlow",
];

const PROJECT_NAMES = ["project_id", "flow_id", "flow"] as const;
/** Parameters that identify something in a project, and the path prefixes that have them. */
const OWNED: ReadonlyArray<readonly [ProjectOwned, string, RegExp]> = [
  ["run", "run_id", /\{run_id\}/],
  ["pause", "pause_id", /\{pause_id\}/],
  ["trigger", "id", /^\/v2\/triggers\/\{id\}/],
];

/** Whether the project of a request is known before the request is handled. */
export function namesProject({ id, path }: Pick<Operation, "id" | "path">): boolean {
  return (
    NAMED_IN_REQUEST.includes(id) ||
    /\{(project_id|flow_id|flow)\}/.test(path) ||
    OWNED.some(([, , address]) => address.test(path))
  );
}

/** The parts of a validated request. */
interface RequestParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** A project named in a request: by its own ID, or by the ID of something in it. */
interface NamedProject {
  /** The type of the thing that has the ID. */
  readonly noun: string;
  /** `null` if nothing has the ID. */
  readonly project_id: string | null;
}

/** Whether a role of the caller in some project may suffice, before the projects of the request are known. */
export function mayEverCall(principal: Principal, operation: Operation): boolean {
  if (roleAllows(principal.role, neededRole(operation)) || isForMembers(operation)) return true;
  // A member must not learn that a project without a role for them exists.
  return (
    namesProject(operation) &&
    (principal.role === "member" || roleAllows(highestRole(principal), neededRole(operation)))
  );
}

/**
 * The caller with its role in the projects of a request. Throws 403 if the role does not suffice there or a key is for other projects, and
 * 404 if the caller may not see the project. A request that names no project is refused unless the role in the organisation suffices; this
 * includes operations added later.
 */
export async function requireProjects(
  db: Database,
  principal: Principal,
  operation: Operation,
  request: RequestParts,
): Promise<Principal> {
  const { limits, grants, role } = principal;
  if (limits?.projects != null) {
    const named = await namedProjects(db, principal, operation, request);
    const isAllowed = ({ project_id }: NamedProject): boolean => limits.projects?.includes(project_id ?? "") === true;
    if (!namesProject(operation) || named.length === 0 || !named.every(isAllowed))
      throw restricted("projects", "The key is restricted to other projects, or the request names no project.");
    return principal;
  }
  // Most callers have the same role in every project.
  if (grants === undefined && role !== "member") return principal;
  const named = await namedProjects(db, principal, operation, request);
  const roles = named.map(({ project_id }) => (project_id === null ? role : roleIn(principal, project_id)));
  const hidden = named.find((_, at) => roles[at] === "member");
  // If a project only filters a list, an invisible project must give an empty list, not a 404.
  if (hidden !== undefined && !isForMembers(operation)) throw notFound(hidden.noun);
  const least = ROLES.find((each) => roles.includes(each)) ?? role;
  if (!roleAllows(least, neededRole(operation)) && !isForMembers(operation)) throw tooLowRole(operation, least);
  return { ...principal, role: least, organisation_role: role };
}

/** The 403 for a role that does not suffice. */
export function tooLowRole(operation: Operation, role: Role): Problem {
  return new Problem("forbidden", `This requires the role ${neededRole(operation)}; your role is ${role}.`);
}

function isForMembers({ id }: Operation): boolean {
  return FOR_MEMBERS.includes(id);
}

async function namedProjects(
  db: Database,
  { org_id }: Principal,
  operation: Operation,
  { params, query, body }: RequestParts,
): Promise<NamedProject[]> {
  const inRequest = NAMED_IN_REQUEST.includes(operation.id) ? [query, body] : [];
  const ids = [params, ...inRequest].flatMap((members) =>
    PROJECT_NAMES.flatMap((name) => memberOf(members, name) ?? []),
  );
  // The member `flow` of a body can be a flow instead of an ID. A list names several projects, which no operation accepts.
  const texts = ids.filter((id) => typeof id === "string" || Array.isArray(id));
  const named = texts.map(String).map((id): NamedProject => ({ noun: "project", project_id: id.toLowerCase() }));
  for (const [owned, name, path] of OWNED) {
    const id = path.test(operation.path) ? memberOf(params, name) : undefined;
    if (typeof id !== "string") continue;
    named.push({ noun: owned, project_id: await findOwningProject(db, org_id, owned, id) });
  }
  return named;
}

function memberOf(members: unknown, name: string): unknown {
  return typeof members === "object" && members !== null ? (members as Record<string, unknown>)[name] : undefined;
}
