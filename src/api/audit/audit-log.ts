import { z } from "zod";
import { storedTarget, ACTOR_TYPES, AUDIT_OUTCOMES } from "../../domain/audit/audit.ts";
import { timeText } from "../../domain/timestamps.ts";
import { textStream } from "../../platform/records.ts";
import { hashUser } from "../../services/erasures/erasures.ts";
import { listAuditEntries, type AuditEntry, type AuditFilter } from "../../stores/audit/audit-log.ts";
import { NDJSON } from "../http/event-stream.ts";
import { fileNameHeader } from "../http/file-name-header.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf } from "../http/operation.ts";
import { jsonValueSchema } from "../../domain/json-schema.ts";
import { asDeclared, givenId, named } from "../http/schemas.ts";

const auditEntrySchema = named("AuditEntry", {
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
});

function presentAuditEntry(entry: AuditEntry): z.infer<typeof auditEntrySchema> {
  const { actor_type, actor_id, target_type, target_id } = entry;
  return asDeclared(auditEntrySchema, {
    ...entry,
    actor: { ...entry, type: actor_type, id: actor_id },
    target: target_type === null || target_id === null ? null : { type: target_type, id: target_id },
  });
}

const filters = z.object({
  actor: givenId.optional().describe("Only entries of this user or key."),
  target: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      "Only entries about the resource with this ID. For an end user this includes the entries that an erasure keeps.",
    ),
  operation: z.string().min(1).max(100).optional().describe("Only entries of this operation, such as `changeProject`."),
  since: timeText.optional().describe("RFC 3339 time; inclusive."),
  until: timeText.optional().describe("RFC 3339 time; exclusive."),
});

const EXPORTED_AT_ONCE = 500;

const define = operationsOf({ tag: "Audit log", auth: "secret", role: "admin" });

/** `/v2/audit-log`: who changed what, and who read secrets and exports. */
export const auditOperations = [
  define({
    id: "listAuditLog",
    route: "GET /v2/audit-log",
    summary: "List the audit log",
    description:
      "Lists who changed what, from where and when: every change through this API and the command line, every sign-in, and each time a secret was rotated or data was exported. A run records itself who started it. Entries are never changed.",
    query: listQuery.extend(filters.shape),
    success: { 200: { description: "A page of entries.", schema: pageOf(auditEntrySchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      const filter = filterOf(org_id, query);
      return listPage("audit-log", org_id, query, {
        filters: { ...filter },
        fetch: (keyset) => reads.org(org_id, (connection) => listAuditEntries(connection, filter, keyset)),
        idOf: ({ entry_id }) => entry_id,
        present: presentAuditEntry,
      });
    },
  }),
  define({
    id: "exportAuditLog",
    audit: "always",
    route: "GET /v2/audit-log/export",
    summary: "Download the audit log",
    description: "Returns the entries as JSON lines, oldest first. The download itself is recorded as an entry.",
    query: filters,
    success: { 200: { description: "One entry per line.", content: { [NDJSON]: z.string() } } },
    async handler({ query, principal: { org_id }, audit }, { db }) {
      const filter = filterOf(org_id, query);
      // Recorded before the first line is read, so that the file contains the entry.
      await db.org(org_id, (connection) => audit(connection, {}));
      async function* lines(): AsyncGenerator<string> {
        let beyond: string | null = null;
        for (;;) {
          const keyset = { beyond, ascending: true, limit: EXPORTED_AT_ONCE };
          const page: AuditEntry[] = await db.orgRead(
            org_id,
            (connection) => listAuditEntries(connection, filter, keyset),
            true,
          );
          for (const entry of page) yield `${JSON.stringify(presentAuditEntry(entry))}\n`;
          beyond = page.at(-1)?.entry_id ?? null;
          if (page.length < EXPORTED_AT_ONCE) return;
        }
      }
      return {
        status: 200,
        type: NDJSON,
        content: textStream(lines()),
        headers: { "Content-Disposition": fileNameHeader("audit-log.ndjson"), "Cache-Control": "no-store" },
      };
    },
  }),
];

/** Entries contain an erased end user's ID only as a hash, so the filter also matches the hash. */
function filterOf(orgId: string, { actor, target, operation, since, until }: z.output<typeof filters>): AuditFilter {
  return {
    actor_id: actor,
    target_ids: target === undefined ? undefined : [storedTarget(target), hashUser(orgId, target)],
    operation,
    since,
    until,
  };
}
