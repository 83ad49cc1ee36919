/** The operations of the audit log. */
export { auditOperations as audit } from "./audit-log.ts";
