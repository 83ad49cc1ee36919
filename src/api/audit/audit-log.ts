import { z } from "zod";
import { storedTarget } from "../../domain/audit/audit.ts";
import { timeText } from "../../domain/timestamps.ts";
import { textStream } from "../../platform/records.ts";
import { hashUser } from "../../services/erasures/erasures.ts";
import { listAuditEntries } from "../../stores/audit/audit-log.ts";
import type { AuditEntry, AuditFilter } from "../../stores/audit/audit-log.ts";
import type { ApiDeps } from "../deps.ts";
import { NDJSON } from "../http/event-stream.ts";
import { fileNameHeader } from "../http/file-name-header.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { auditEntrySchema, presentAuditEntry } from "./audit-presenter.ts";

const filters = {
  actor: z.uuid().toLowerCase().optional().describe("Only entries of this user or key."),
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
};

const COMMON = { method: "GET", tag: "Audit log", auth: "secret", role: "admin" } as const;
const EXPORTED_AT_ONCE = 500;

/** `/v2/audit-log`: who changed what, and who read secrets and exports. */
export function createAuditOperations({ db, reads }: ApiDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: "listAuditLog",
      path: "/v2/audit-log",
      summary: "List the audit log",
      description:
        "Lists who changed what, from where and when: every change through this API and the command line, every sign-in, and each time a secret was rotated or data was exported. A run records itself who started it. Entries are never changed.",
      query: listQuery.extend(filters),
      success: { 200: { description: "A page of entries.", schema: pageOf(auditEntrySchema, "AuditEntryPage") } },
      async handler({ query, principal: { org_id } }) {
        const filter = filterOf(org_id, query);
        return listPage({
          list: "audit-log",
          orgId: org_id,
          query,
          filters: { ...filter },
          fetch: (keyset) => reads.org(org_id, (connection) => listAuditEntries(connection, filter, keyset)),
          idOf: ({ entry_id }) => entry_id,
          present: presentAuditEntry,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "exportAuditLog",
      audit: "always",
      path: "/v2/audit-log/export",
      summary: "Download the audit log",
      description: "Returns the entries as JSON lines, oldest first. The download itself is recorded as an entry.",
      query: z.object(filters),
      success: { 200: { description: "One entry per line.", content: { [NDJSON]: z.string() } } },
      async handler({ query, principal: { org_id }, audit }) {
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
}

interface GivenFilters {
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
  readonly operation?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Entries contain an erased end user's ID only as a hash, so the filter also matches the hash. */
function filterOf(orgId: string, { actor, target, operation, since, until }: GivenFilters): AuditFilter {
  return {
    actor_id: actor,
    target_ids: target === undefined ? undefined : [storedTarget(target), hashUser(orgId, target)],
    operation,
    since,
    until,
  };
}
