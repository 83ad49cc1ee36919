import { z } from "zod";
import { ACTOR_TYPES, AUDIT_OUTCOMES } from "../../domain/audit/audit.ts";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import type { AuditEntry } from "../../stores/audit/audit-log.ts";

export const auditEntrySchema = z
  .object({
    entry_id: z.uuid(),
    at: z.iso.datetime(),
    actor: z.object({
      type: z.enum(ACTOR_TYPES).describe("`cli`: somebody with access to the installation itself."),
      id: z
        .uuid()
        .nullable()
        .describe("The id of the user or the key; null for a refused sign-in, for `system` and for `cli`."),
      session_id: z.uuid().nullable().describe("The session of a user who was signed in to the console."),
      address: z.string().nullable(),
      user_agent: z.string().nullable(),
    }),
    request_id: z.string().nullable().describe("The X-Request-Id of the request."),
    operation: z.string().describe("The operation's id in this document; of the command line its command."),
    target: z
      .object({ type: z.string(), id: z.string() })
      .nullable()
      .describe("The kind of thing acted on, such as `project`; null for the whole organisation."),
    outcome: z.enum(AUDIT_OUTCOMES),
    changes: z
      .record(z.string(), z.object({ before: jsonValueSchema.optional(), after: jsonValueSchema.optional() }))
      .describe(
        "What is different, by field: without `before` it is new, without `after` gone. Secrets are masked; a value longer than 1 kB is the beginning of its JSON text.",
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
