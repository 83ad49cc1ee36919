import type { AuditActor } from "../../domain/audit/audit.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { Database, Db } from "../../stores/db.ts";
import { recordAudit } from "../audit/audit.ts";
import { usersWithAddress } from "./sign-in.ts";

/** Where a sign-in comes from, and its API operation. */
export interface SignInPlace extends Pick<AuditActor, "address" | "user_agent" | "request_id"> {
  readonly operation: string;
}

/** Records a user's sign-in in the transaction that creates the session or the tokens. */
export async function recordSignIn(
  db: Db,
  { operation, ...from }: SignInPlace,
  { org_id, user_id }: { readonly org_id: string; readonly user_id: string },
  sessionId: string | null,
  how?: { readonly provider: string },
): Promise<void> {
  const actor: AuditActor = { ...from, org_id, actor_type: "user", actor_id: user_id, session_id: sessionId };
  await recordAudit(db, actor, operation, { target: { type: "user", id: user_id }, ...(how && { after: how }) });
}

/**
 * Records refused sign-ins in each organisation that has a user with that address. The entries name no actor, because
 * the caller has not proved to be that user. An unknown address is not recorded. The request does not wait for the
 * record, because the response time would reveal which addresses have users.
 */
export function noteRefusedSignIns(
  db: Database,
  logger: Logger,
): (place: SignInPlace, email: string, orgId: string | undefined) => void {
  return ({ operation, ...from }, email, orgId) => {
    const note = async (): Promise<void> => {
      for (const { org_id, user_id } of await usersWithAddress(db, email, orgId)) {
        const actor: AuditActor = { ...from, org_id, actor_type: "user", actor_id: null, session_id: null };
        const change = { target: { type: "user", id: user_id } };
        await db.org(org_id, (connection) => recordAudit(connection, actor, operation, change, "failure"));
      }
    };
    note().catch((err: unknown) => logger.error({ err }, "could not write a rejected sign-in to the audit log"));
  };
}
