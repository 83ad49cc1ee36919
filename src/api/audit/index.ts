import type { CreateOperations } from "../deps.ts";
import { createAuditOperations } from "./audit-log.ts";

/** The operations of the audit log. */
export const audit: CreateOperations = [createAuditOperations];
