import { auditOperations } from "./audit-log.ts";

/** The operations of the audit log. */
export const audit = [...auditOperations];
