import { z } from "zod";
import { ACTOR_TYPES, AUDIT_OUTCOMES } from "../../domain/audit/audit.ts";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import type { AuditEntry } from "../../stores/audit/audit-log.ts";

export const auditEntrySchema = z
  .object({
    entry_id: z.uuid(),
    at: z.iso.datetime(),
    actor: z.object({
      type: z
        .enum(ACTOR_TYPES)
        .describe("`cli`: a person with access to the installation itself. `page`: a visitor of a published page."),
      id: z
        .uuid()
        .nullable()
        .describe("ID of the user or key; `null` for a refused sign-in, for `system` and for `cli`."),
      session_id: z.uuid().nullable().describe("The console session that the user was signed in with."),
      address: z.string().nullable(),
      user_agent: z.string().nullable(),
    }),
    request_id: z.string().nullable().describe("The `X-Request-Id` of the request."),
    operation: z.string().describe("Operation ID in this document or, for the command line, the command."),
    target: z
      .object({ type: z.string(), id: z.string() })
      .nullable()
      .describe("Type of the changed resource, such as `project`; `null` for the whole organisation."),
    outcome: z.enum(AUDIT_OUTCOMES),
    changes: z
      .record(z.string(), z.object({ before: jsonValueSchema.optional(), after: jsonValueSchema.optional() }))
      .describe(
        "The changes by field. Without `before` the field is new, without `after` it was deleted. Secrets are masked; of a value longer than 1 kB you see the beginning of its JSON text.",
      ),
  })
  .meta({ id: "AuditEntry" });

export function presentAuditEntry(entry: AuditEntry): z.infer<typeof auditEntrySchema> {
  const { actor_type, actor_id, session_id, address, user_agent, target_type, target_id } = entry;
  return {
    entry_id: entry.entry_id,
    at: entry.at,
    actor: { type: actor_type, id: actor_id, session_id, address, user_agent },
    request_id: entry.request_id,
    operation: entry.operation,
    target: target_type === null || target_id === null ? null : { type: target_type, id: target_id },
    outcome: entry.outcome,
    changes: entry.changes,
  };
}
