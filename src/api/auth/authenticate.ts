import { roleAllows } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import type { CredentialLookup } from "../../services/accounts/credentials.ts";
import type { Operation } from "../http/operation.ts";

/** Authenticates a request. Throws the 401 of a missing, unknown, expired or revoked credential. */
export async function authenticate(
  credentials: CredentialLookup,
  authorization: string | undefined,
): Promise<Principal> {
  const principal = await credentials.find(bearer(authorization));
  if (!principal) throw unauthorized("The credential is not valid, has expired or was revoked.", true);
  return principal;
}

/** The credential of an Authorization header, however its scheme is spelled. */
export function bearer(authorization: string | undefined): string {
  const match = /^Bearer +([^\s]+)$/i.exec((authorization ?? "").slice(0, 4096));
  if (!match?.[1])
    throw unauthorized("Send the credential as `Authorization: Bearer <credential>`.", authorization !== undefined);
  return match[1];
}

function unauthorized(detail: string, given: boolean): Problem {
  const challenge = given ? 'Bearer realm="millrace", error="invalid_token"' : 'Bearer realm="millrace"';
  return new Problem("unauthorized", detail, { headers: { "WWW-Authenticate": challenge } });
}

/** Throws the 403 of a credential that is valid but does not suffice for the operation. */
export function authorise(principal: Principal, operation: Operation): void {
  if (principal.access === "public") {
    if (operation.auth === "public") return;
    throw new Problem(
      "forbidden",
      "A public key may only run flows and upload documents. Use a secret key or a user's token.",
    );
  }
  const needed = operation.role ?? (operation.method === "GET" ? "viewer" : "editor");
  if (!roleAllows(principal.role, needed))
    throw new Problem("forbidden", `This needs the role ${needed}; yours is ${principal.role}.`);
}
