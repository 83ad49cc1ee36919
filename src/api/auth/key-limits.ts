import type { Config } from "../../config.ts";
import { missingScope, type Scope } from "../../domain/accounts/key-limits.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem } from "../../domain/errors.ts";
import { clientAddress, isInRanges } from "../http/addresses.ts";
import type { RequestContext } from "../http/operation.ts";

type Restriction = "read_only" | "projects" | "allowed_origins" | "allowed_addresses";

/** Throws 403 if the key may not be used from the page or the address that the request comes from. */
export function requirePlace(config: Config, ctx: RequestContext, { limits }: Principal): void {
  if (limits === undefined) return;
  const { allowed_origins, allowed_addresses } = limits;
  if (allowed_origins !== null && !allowed_origins.includes(ctx.get("Origin")))
    throw restricted("allowed_origins", "This key accepts only requests from its allowed web origins.");
  const address = clientAddress(ctx.req, config.MILLRACE_TRUSTED_PROXIES);
  if (allowed_addresses !== null && !isInRanges(address, allowed_addresses))
    throw restricted("allowed_addresses", `The key cannot be used from the address ${address}.`);
}

/** Throws 403 if the key does not cover operations of this scope. */
export function requireScope({ limits }: Principal, scope: Scope): void {
  if (limits === undefined) return;
  if (limits.read_only && scope.access === "write") throw restricted("read_only", "The key is read-only.");
  const missing = missingScope(limits, scope);
  if (missing !== null)
    throw new Problem("missing_scope", `The key lacks the scope ${missing}.`, { extra: { scope: missing } });
}

/** The 403 for a key that does not cover the subject of a request. */
export function restricted(restriction: Restriction, detail: string): Problem {
  return new Problem("key_restricted", detail, { extra: { restriction } });
}
