import type { AuditActor } from "../../domain/audit/audit.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { Database, Db } from "../../stores/db.ts";
import { recordAudit } from "../audit/audit.ts";
import { usersWithAddress } from "./sign-in.ts";

/** Where somebody signs in from, and by which operation. */
export interface SignInPlace extends Pick<AuditActor, "address" | "user_agent" | "request_id"> {
  readonly operation: string;
}

/** Records a user's sign-in in the transaction that makes the session or the tokens. */
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
 * Records refused sign-ins for each organisation that has a user of that address; nobody has proved to be that user.
 * An unknown address belongs to no organisation and is not recorded. Nobody waits for the record: the time of a
 * refusal would tell which addresses have users.
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
    note().catch((err: unknown) => logger.error({ err }, "refused sign-in not in the audit log"));
  };
}
