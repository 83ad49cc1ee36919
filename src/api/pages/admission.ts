import type { Middleware } from "koa";
import { z } from "zod";
import { Problem, type ProblemCode } from "../../domain/errors.ts";
import type { AuditActor } from "../../domain/audit/audit.ts";
import type { Config } from "../../config.ts";
import { auditOf, type Audit } from "../../services/audit/audit.ts";
import { networkOf } from "../../services/accounts/sign-in.ts";
import type { PageDoor } from "../../services/pages/page-door.ts";
import type { PageRow } from "../../stores/pages/pages.ts";
import type { VisitorRow } from "../../stores/pages/visitors.ts";
import { isOwnOrigin } from "../auth/session-cookie.ts";
import type { HandlerDeps } from "../deps.ts";
import { clientAddress } from "../http/addresses.ts";
import type { RequestContext, RequestState } from "../http/operation.ts";
import { requestOf } from "../http/request-audit.ts";
import { turnOf } from "../http/turns.ts";

export const pageToken = z.object({ token: z.string().max(1000).describe("The secret part of the page's URL.") });

/** What every operation of a page may answer; see Admission. */
export const PAGE_PROBLEMS = [
  "unauthorized",
  "forbidden",
  "not_found",
  "page_closed",
  "rate_limited",
  "service_unavailable",
] as const satisfies readonly ProblemCode[];

/** A request of a browser to a page. */
interface Arrival {
  readonly page: PageRow;
  readonly network: string;
  /** Null for the operations that need no handle, if none was sent or it is not valid. */
  readonly visitor: VisitorRow | null;
}

/** A request of a visitor whose handle is valid. */
export interface Visit extends Arrival {
  readonly visitor: VisitorRow;
}

const arrivals = new WeakMap<RequestContext, Arrival>();

const BELOW_PAGE = /^\/f\/([^/]+)\//;
const ALLOWED = "Authorization, Content-Type, Accept, Idempotency-Key, Last-Event-ID, X-Request-Id";
const EXPOSED = "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy";

type Door = Pick<HandlerDeps, "config" | "pages">;

async function admit(ctx: RequestContext, { config, pages: door }: Door): Promise<Arrival> {
  const network = networkOf(clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES));
  // A stream is admitted again and again, but is one request.
  if (!arrivals.has(ctx)) await door.countRequest(network);
  const page = await door.open(tokenIn(ctx.path) ?? "");
  await turnOf(page.org_id);
  const origin = ctx.get("Origin");
  if (origin !== "" && !isOwnOrigin(config, ctx, origin) && !page.origins.includes(origin))
    throw new Problem("forbidden", "This page cannot be used from the web origin of the request.");
  const handle = /^Bearer +(\S+)$/i.exec(ctx.get("Authorization").slice(0, 200))?.[1];
  const visitor = handle === undefined ? null : await door.visitor(page, handle);
  const arrival = { page, network, visitor };
  arrivals.set(ctx, arrival);
  return arrival;
}

// Both come before the body of a request is read, and again while a stream is open.

/** For operations that need no handle: throws 403, 404, 410 and 429. */
export async function admitAnyone(ctx: RequestContext, _count: unknown, door: Door): Promise<void> {
  await admit(ctx, door);
}

/** For all others: throws 401, too. */
export async function admitVisitors(ctx: RequestContext, _count: unknown, door: Door): Promise<void> {
  const { visitor } = await admit(ctx, door);
  if (visitor !== null) return;
  const detail = "Send the handle of a visitor, which POST /f/{token}/visitors returns, as bearer token.";
  throw new Problem("unauthorized", detail, { headers: { "WWW-Authenticate": 'Bearer realm="page"' } });
}

/** The admitted request of an operation that needs no handle. */
export function arrivalOf(ctx: RequestContext): Arrival {
  const arrival = arrivals.get(ctx);
  if (arrival === undefined) throw new Error("a visitor is admitted before the body is read");
  return arrival;
}

/** The admitted visitor of a request. */
export function visitOf(ctx: RequestContext): Visit {
  const { visitor, ...arrival } = arrivalOf(ctx);
  if (visitor === null) throw new Error("the operation admits only visitors");
  return { ...arrival, visitor };
}

/** Records what a visitor changes, as a change by the page: the log names no visitor. */
export function visitorAudit(config: Config, ctx: RequestContext, operation: string): Audit {
  const { page } = arrivalOf(ctx);
  const actor: AuditActor = {
    ...requestOf(config, ctx),
    org_id: page.org_id,
    actor_type: "page",
    actor_id: page.page_id,
    session_id: null,
  };
  return auditOf({ actor, operation });
}

/** Lets pages of the origins that a published page names read its responses. */
export function pageCors(door: PageDoor): Middleware<RequestState> {
  return async function pageCors(ctx, next) {
    const token = tokenIn(ctx.path);
    if (token === undefined) return next();
    ctx.vary("Origin");
    const origin = ctx.get("Origin");
    const page = origin === "" ? null : await door.find(token);
    if (!page?.origins.includes(origin)) return next();
    ctx.set("Access-Control-Allow-Origin", origin);
    ctx.set("Access-Control-Expose-Headers", EXPOSED);
    ctx.set("Cross-Origin-Resource-Policy", "cross-origin");
    if (ctx.method !== "OPTIONS") return next();
    ctx.set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE, OPTIONS");
    ctx.set("Access-Control-Allow-Headers", ALLOWED);
    ctx.set("Access-Control-Max-Age", "600");
    ctx.status = 204;
  };
}

function tokenIn(path: string): string | undefined {
  return BELOW_PAGE.exec(path)?.[1];
}
