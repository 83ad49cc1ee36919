import { purgeAuditEntries } from "../../stores/audit/audit-log.ts";
import { purgeOf } from "../house/purge.ts";

export const auditPurges = [
  purgeOf("audit log", async (db, batch, { auditDays }) =>
    auditDays === null ? 0 : purgeAuditEntries(db, auditDays, batch),
  ),
];
