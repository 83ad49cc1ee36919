import { uuidv7 } from "uuidv7";
import type { Config } from "../../config.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import type { AuditActor, AuditedRequest, AuditTarget } from "../../domain/audit/audit.ts";
import { auditOf, type Audit } from "../../services/audit/audit.ts";
import type { Database } from "../../stores/db.ts";
import { clientAddress } from "./addresses.ts";
import type { Answer, Operation, RequestContext } from "./operation.ts";

const SHOWN_CHARACTERS = 300;

/** The audit entries of one request. */
export interface RequestAudit {
  readonly audit: Audit;
  /** For a process that records the change in its own transaction; then this request writes no entry. */
  handOver(): Required<AuditedRequest>;
  /**
   * A safety net for handlers: writes an entry for a successful request that recorded none, so that no change is missing. The entry says
   * who did what to which resource, but not what the resource was before.
   */
  complete(answer: Answer, params: Readonly<Record<string, unknown>>): Promise<void>;
}

/** Whether a request of the operation may change something. */
export function changesSomething({ method, audit }: Pick<Operation, "method" | "audit">): boolean {
  return method !== "GET" && audit !== "never";
}

export function createRequestAudit(
  { config, db }: { readonly config: Config; readonly db: Database },
  operation: Operation,
  ctx: RequestContext,
  principal: Principal | null,
): RequestAudit {
  const isAudited = (operation.audit ?? (changesSomething(operation) ? "always" : "never")) === "always";
  let recorded = false;
  function asked(): AuditedRequest {
    if (principal === null) throw new Error(`${operation.id} has no caller: it records who it finds`);
    return { actor: actorOf(config, ctx, principal), operation: operation.id };
  }
  const audit: Audit = async (connection, change) => {
    await auditOf(asked())(connection, change);
    recorded = true;
  };
  return {
    audit,
    handOver() {
      recorded = true;
      return { ...asked(), entry_id: uuidv7() };
    },
    async complete(answer, params) {
      if (!isAudited || recorded || principal === null) return;
      if (answer !== "written" && "unchanged" in answer && answer.unchanged === true) return;
      if ((answer === "written" ? ctx.status : answer.status) >= 400) return;
      const target = targetOf(params) ?? targetOf(createdId(operation, answer));
      await db.org(principal.org_id, (connection) => audit(connection, target ? { target } : {}));
    },
  };
}

/** The caller of a request, as the audit log names it. */
function actorOf(config: Config, ctx: RequestContext, principal: Principal): AuditActor {
  const { org_id, type, id, session_id = null } = principal;
  return { ...requestOf(config, ctx), org_id, actor_type: type, actor_id: id, session_id };
}

/** Where a request comes from. */
export function requestOf(
  config: Config,
  ctx: RequestContext,
): Pick<AuditActor, "address" | "user_agent" | "request_id"> {
  return {
    address: clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES),
    user_agent: ctx.get("User-Agent").slice(0, SHOWN_CHARACTERS) || null,
    request_id: ctx.state.requestId,
  };
}

/** The last ID in a path; earlier ones name what the resource belongs to. */
function targetOf(members: Readonly<Record<string, unknown>>): AuditTarget | undefined {
  return Object.entries(members)
    .flatMap(([name, id]) => {
      const match = /^(?:(\w+)_)?id$/.exec(name);
      return match !== null && typeof id === "string" ? [{ type: match[1] ?? "resource", id }] : [];
    })
    .at(-1);
}

/** The ID of what the operation has created, by its name. */
function createdId({ createdId: name }: Operation, answer: Answer): Readonly<Record<string, unknown>> {
  const body = answer === "written" || "content" in answer ? undefined : answer.body;
  if (name === undefined || typeof body !== "object" || body === null) return {};
  return { [name]: Object.entries(body).find(([field]) => field === name)?.[1] };
}
