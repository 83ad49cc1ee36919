import { z } from "zod";
import { ERASURE_STATES } from "../../domain/erasures/erasure.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { createErasure, requireErasure } from "../../services/erasures/erasures.ts";
import { listErasures } from "../../stores/erasures/erasures.ts";
import type { ErasureRow } from "../../stores/erasures/erasures.ts";
import type { ApiDeps } from "../deps.ts";
import { asDeclared } from "../http/as-declared.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { visibleText } from "../http/text-fields.ts";

const COMMON = { tag: "Erasures", auth: "secret", role: "admin" } as const;
const PATH = "/v2/erasures";
const params = z.object({ erasure_id: pathId("erasure") });

const body = z
  .strictObject({
    user_id: visibleText(256).describe("The `user_id` of runs, documents and conversations; must match exactly."),
    project_id: z
      .uuid()
      .toLowerCase()
      .nullish()
      .describe("Erases only data of this project. If omitted, data of the whole organisation."),
  })
  .meta({ id: "ErasureCreate" });

const erasureSchema = z
  .object({
    erasure_id: z.uuid(),
    project_id: z
      .uuid()
      .nullable()
      .describe("The project that the erasure covers; `null` means the whole organisation."),
    user_hash: z
      .string()
      .describe(
        "SHA-256, in hexadecimal digits, of the organisation ID, a line feed and the `user_id`. The `user_id` itself is not stored.",
      ),
    state: z.enum(ERASURE_STATES),
    removed: z.record(z.string(), z.int()).describe("Number of items found and removed so far, by store."),
    left: z
      .array(z.object({ store: z.string(), count: z.int().nullable(), reason: z.string() }))
      .describe("What was not removed and why; known once the erasure is COMPLETED."),
    problem: z
      .string()
      .nullable()
      .describe("Why the erasure is not progressing currently. It continues automatically."),
    created_by: z.string().describe("`user:<id>` or `org_api_key:<id>`."),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Erasure" });
export type ErasureView = z.infer<typeof erasureSchema>;

/** `/v2/erasures`: erasure of all data of one end user, with a report. */
export function createErasureOperations({ db, reads }: ApiDeps): Operation[] {
  const audited = auditAs("erasure", auditView);
  return [
    defineOperation({
      ...COMMON,
      id: "createErasure",
      method: "POST",
      path: PATH,
      summary: "Erase the data of a user",
      description: `Permanently removes all data of an end user, in the background: runs with their values, nodes, events and pauses
(unfinished runs are cancelled), child runs and runs that triggers started from them, conversations, documents,
dataset rows made from those runs and experiment results of these rows, scores, events and webhook deliveries,
stored responses, blobs, and their workflows in Temporal.

If an erasure for this user is already running, it is returned. Data created for the user in the meantime is
erased too.`,
      body,
      examples: { user: { user_id: "ada-1" } },
      problems: ["not_found"],
      success: {
        202: {
          description: "The erasure.",
          schema: erasureSchema,
          headers: { Location: "URL of the created resource." },
          links: { getErasure: linkTo("getErasure", ["erasure_id"]) },
        },
      },
      async handler({ body: { user_id, project_id }, principal: { org_id, type, id }, audit, newId }) {
        const erasure_id = newId();
        const wanted = { erasure_id, org_id, user_id, created_by_type: type, created_by_id: id };
        const erasure = await createErasure(
          db,
          { ...wanted, project_id: project_id ?? null },
          audited(audit, erasure_id),
        );
        return { status: 202, body: present(erasure), headers: { Location: `${PATH}/${erasure.erasure_id}` } };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listErasures",
      method: "GET",
      path: PATH,
      summary: "List erasures",
      description:
        "Lists erasures, newest first, with the number of items each has removed. Erasures are kept forever.",
      query: listQuery,
      success: { 200: { description: "A page of erasures.", schema: pageOf(erasureSchema, "ErasurePage") } },
      async handler({ query, principal: { org_id } }) {
        return listPage({
          list: "erasures",
          orgId: org_id,
          query,
          fetch: (keyset) => reads.org(org_id, (connection) => listErasures(connection, keyset)),
          idOf: ({ erasure_id }) => erasure_id,
          present,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getErasure",
      method: "GET",
      path: `${PATH}/{erasure_id}`,
      summary: "Get the report of an erasure",
      description:
        "Returns what the erasure has removed so far. It runs in the background; poll until it is COMPLETED.",
      params,
      success: { 200: { description: "The erasure.", schema: erasureSchema } },
      async handler({ params: { erasure_id }, principal: { org_id } }) {
        return { status: 200, body: present(await requireErasure(db, org_id, erasure_id)) };
      },
    }),
  ];
}

function auditView({ project_id, user_hash }: ErasureRow) {
  return { project_id, user_hash };
}

function present(erasure: ErasureRow): ErasureView {
  return asDeclared(erasureSchema, {
    ...erasure,
    left: erasure.remaining,
    created_by: `${erasure.created_by_type}:${erasure.created_by_id}`,
  });
}
