import type { Principal } from "../../domain/accounts/principal.ts";
import type { Config } from "../../config.ts";
import { Problem } from "../../domain/errors.ts";
import type { CredentialLookup } from "../../services/accounts/credentials.ts";
import type { Operation, RequestContext } from "../http/operation.ts";
import { requirePlace, requireScope } from "./key-limits.ts";
import { scopeOf } from "./operation-scope.ts";
import { mayEverCall, tooLowRole } from "./project-roles.ts";
import { requireSameOrigin, secretIn } from "./session-cookie.ts";

/** Addresses that the console's own pages call. Others take no session, because pages of other sites may call them with a key. */
const FOR_PEOPLE = /^\/(v2|console|documents|upload_to_storage_user)(\/|$)/;

/** The caller, and the secret that authenticates it. */
export interface Caller {
  readonly principal: Principal;
  readonly credential: string;
}

/**
 * Authenticates a request: by its Authorization header or, at addresses for people, by the session cookie.
 * Throws 401 if the credential is missing, unknown, expired or revoked, or if there are two. Throws 403 for a page of another site, and for
 * a key that may not be used from the page or address of the request.
 */
export async function authenticate(
  { config, credentials }: { readonly config: Config; readonly credentials: CredentialLookup },
  ctx: RequestContext,
): Promise<Caller> {
  const { authorization } = ctx.headers;
  const session = FOR_PEOPLE.test(ctx.path) ? secretIn(config, ctx, "millrace_session") : undefined;
  if (session === undefined) {
    const credential = bearer(authorization);
    const principal = await credentials.find(credential);
    if (!principal) throw unauthorized("The credential is not valid, has expired or was revoked.", true);
    requirePlace(config, ctx, principal);
    return { principal, credential };
  }
  if (authorization !== undefined)
    throw unauthorized("Send either the session cookie or an Authorization header, not both.", true);
  requireSameOrigin(config, ctx);
  const principal = await credentials.findSession(session);
  if (!principal) throw unauthorized("The session has ended. Sign in again.", true);
  return { principal, credential: session };
}

/** The credential in an Authorization header; the case of its scheme does not matter. */
function bearer(authorization: string | undefined): string {
  const match = /^Bearer +([^\s]+)$/i.exec((authorization ?? "").slice(0, 4096));
  if (!match?.[1])
    throw unauthorized("Send the credential as `Authorization: Bearer <credential>`.", authorization !== undefined);
  return match[1];
}

/** The 401 for a refused or missing credential. */
export function unauthorized(detail: string, given: boolean): Problem {
  const challenge = given ? 'Bearer realm="millrace", error="invalid_token"' : 'Bearer realm="millrace"';
  return new Problem("unauthorized", detail, { headers: { "WWW-Authenticate": challenge } });
}

/** Throws the 403 for a valid credential that does not suffice for the operation. */
export function authorise(principal: Principal, operation: Operation): void {
  requireScope(principal, scopeOf(operation));
  if (principal.access === "public") {
    if (operation.auth === "public") return;
    throw new Problem(
      "forbidden",
      "A public key may only run flows and upload documents. Use a secret key or a user's token.",
    );
  }
  if (!mayEverCall(principal, operation)) throw tooLowRole(operation, principal.role);
}
