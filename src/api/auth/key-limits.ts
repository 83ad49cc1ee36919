import type { Config } from "../../config.ts";
import { missingScope } from "../../domain/accounts/key-limits.ts";
import type { Scope } from "../../domain/accounts/key-limits.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { requireRun } from "../../services/runs/require-run.ts";
import type { Database } from "../../stores/db.ts";
import { clientAddress, isInRanges } from "../http/client-address.ts";
import type { Operation, RequestContext } from "../http/operation.ts";

type Restriction = "read_only" | "projects" | "allowed_origins" | "allowed_addresses";

/** Throws 403 where the key is not for the page or the address that a request comes from. */
export function requirePlace(config: Config, ctx: RequestContext, { limits }: Principal): void {
  if (limits === undefined) return;
  const { allowed_origins, allowed_addresses } = limits;
  if (allowed_origins !== null && !allowed_origins.includes(ctx.get("Origin")))
    throw restricted("allowed_origins", "The key is for web pages of other origins.");
  const address = clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES);
  if (allowed_addresses !== null && !isInRanges(address, allowed_addresses))
    throw restricted("allowed_addresses", `The key may not be used from the address ${address}.`);
}

/** Throws 403 where the key is not for operations of this scope. */
export function requireScope({ limits }: Principal, scope: Scope): void {
  if (limits === undefined) return;
  if (limits.read_only && scope.access === "write") throw restricted("read_only", "The key may only read.");
  const missing = missingScope(limits, scope);
  if (missing !== null)
    throw new Problem("missing_scope", `The key lacks the scope ${missing}.`, { extra: { scope: missing } });
}

/** Operations whose query or body names the project of all they do. Others are admitted by the address alone. */
const NAMED_IN_REQUEST: readonly string[] = [
  "callMcp",
  "createRun",
  "getRunStatistics",
  "listPauses",
  "listRuns",
  "uploadDocument",
  "uploadDocumentOlderName",
];
const PROJECT_NAMES = ["project_id", "flow_id", "flow"] as const;

/** Whether the project that a request is about can be known before it is handled. */
export function namesProject({ id, path }: Pick<Operation, "id" | "path">): boolean {
  return NAMED_IN_REQUEST.includes(id) || /\{(project_id|flow_id|flow|run_id)\}/.test(path);
}

/**
 * Throws 403 unless a request is about projects of its key alone. What says nothing of a project is refused, so that a new
 * operation is.
 */
export async function requireProjects(
  db: Database,
  { org_id, limits }: Principal,
  operation: Operation,
  { params, query, body }: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
): Promise<void> {
  const allowed = limits?.projects ?? null;
  if (allowed === null) return;
  const inRequest = NAMED_IN_REQUEST.includes(operation.id) ? [query, body] : [];
  const named = [params, ...inRequest].flatMap(projectsIn);
  const runId = memberOf(params, "run_id");
  if (typeof runId === "string") {
    named.push(await projectOfRun(db, org_id, runId));
  }
  if (!namesProject(operation) || named.length === 0 || !named.every((id) => allowed.includes(id)))
    throw restricted("projects", "The key is for other projects, or the request names none.");
}

/** "" of a run that is not there: it is answered like one of another project. */
async function projectOfRun(db: Database, orgId: string, runId: string): Promise<string> {
  try {
    return (await requireRun(db, orgId, runId)).project_id;
  } catch (error) {
    if (error instanceof Problem && error.code === "not_found") return "";
    throw error;
  }
}

function projectsIn(members: unknown): string[] {
  return PROJECT_NAMES.flatMap((name) => memberOf(members, name) ?? [])
    .map(String)
    .map((id) => id.toLowerCase());
}

function memberOf(members: unknown, name: string): unknown {
  return typeof members === "object" && members !== null ? (members as Record<string, unknown>)[name] : undefined;
}

function restricted(restriction: Restriction, detail: string): Problem {
  return new Problem("key_restricted", detail, { extra: { restriction } });
}
