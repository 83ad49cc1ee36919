import { z } from "zod";
import { ERASURE_STATES } from "../../domain/erasures/erasure.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { createErasure, requireErasure } from "../../services/erasures/erasures.ts";
import { listErasures, type ErasureRow } from "../../stores/erasures/erasures.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linksTo } from "../http/operation.ts";
import { asDeclared, givenId, named, namedStrict, pathId, visibleText } from "../http/schemas.ts";

const PATH = "/v2/erasures";
const params = z.object({ erasure_id: pathId("erasure") });

const body = namedStrict("ErasureCreate", {
  user_id: visibleText(256).describe("The `user_id` of runs, documents and conversations; must match exactly."),
  project_id: givenId
    .nullish()
    .describe("Erases only data of this project. If omitted, data of the whole organisation."),
});

const erasureSchema = named("Erasure", {
  erasure_id: z.uuid(),
  project_id: z.uuid().nullable().describe("The project that the erasure covers; `null` means the whole organisation."),
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
  problem: z.string().nullable().describe("Why the erasure is not progressing currently. It continues automatically."),
  created_by: z.string().describe("`user:<id>` or `org_api_key:<id>`."),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});
export type ErasureView = z.infer<typeof erasureSchema>;

const audited = auditAs("erasure", ({ project_id, user_hash }: ErasureRow) => ({ project_id, user_hash }));

const define = operationsOf({ tag: "Erasures", auth: "secret", role: "admin" });

/** `/v2/erasures`: erasure of all data of one end user, with a report. */
export const erasureOperations = [
  define({
    id: "createErasure",
    route: `POST ${PATH}`,
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
    success: { 202: created("The erasure.", erasureSchema, linksTo("getErasure", ["erasure_id"])) },
    async handler({ body: { user_id, project_id }, principal: { org_id, type, id }, audit, newId }, { db }) {
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
  define({
    id: "listErasures",
    route: `GET ${PATH}`,
    summary: "List erasures",
    description: "Lists erasures, newest first, with the number of items each has removed. Erasures are kept forever.",
    query: listQuery,
    success: { 200: { description: "A page of erasures.", schema: pageOf(erasureSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      return listPage("erasures", org_id, query, {
        fetch: (keyset) => reads.org(org_id, (connection) => listErasures(connection, keyset)),
        idOf: ({ erasure_id }) => erasure_id,
        present,
      });
    },
  }),
  define({
    id: "getErasure",
    route: `GET ${PATH}/{erasure_id}`,
    summary: "Get the report of an erasure",
    description: "Returns what the erasure has removed so far. It runs in the background; poll until it is COMPLETED.",
    params,
    success: { 200: { description: "The erasure.", schema: erasureSchema } },
    async handler({ params: { erasure_id }, principal: { org_id } }, { db }) {
      return { status: 200, body: present(await requireErasure(db, org_id, erasure_id)) };
    },
  }),
];

function present(erasure: ErasureRow): ErasureView {
  return asDeclared(erasureSchema, {
    ...erasure,
    left: erasure.remaining,
    created_by: `${erasure.created_by_type}:${erasure.created_by_id}`,
  });
}
