import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { deleteDocuments, listDocuments } from "../../stores/documents/documents.ts";
import type { DocumentHandle } from "../../stores/documents/documents.ts";
import { requireProject } from "../../services/projects/projects.ts";
import { discardDocuments } from "../../services/documents/discard-documents.ts";
import type { HandlerDeps } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { documentSchema, presentDocument } from "./document-presenter.ts";
import { userHandle } from "../http/text-fields.ts";

const TAG = "Documents";
const PATH = "/documents/{org}/{flow}/{node}/{user_id}";
/** Most documents deleted with one statement. */
const BATCH = 500;
/** Most deleted documents that the audit log names; it only counts the others. */
const NAMED = 20;

const params = z.object({
  org: pathId("credential's organisation"),
  flow: pathId("flow"),
  node: z.string().min(1).max(64).describe("ID of the document node."),
  user_id: userHandle,
});
const filename = z.string().min(1).max(255).optional().describe("Only the document with this file name.");

/** The owner of the documents in a path. The documents of a node that the current flow no longer has are kept. */
async function handleOf(
  { db }: HandlerDeps,
  path: z.output<typeof params>,
  { org_id }: Principal,
): Promise<DocumentHandle> {
  if (path.org !== org_id) throw notFound("flow");
  const { project_id } = await requireProject(db, org_id, path.flow, "flow");
  return { project_id, node_id: path.node, user_id: path.user_id };
}

const define = operationsOf({ tag: TAG, auth: "public" });

/** `/documents`: documents that were uploaded for a user ID. */
export const documentOperations = [
  define({
    id: "listDocuments",
    route: `GET ${PATH}`,
    summary: "List the documents of a user",
    description:
      "Lists the documents that were uploaded for a `user_id`, which must match exactly. The `user_id` protects the documents: anyone with the public key and a `user_id` can list and delete them. In web pages use values that cannot be guessed.",
    params,
    query: listQuery.extend({ filename }),
    success: { 200: { description: "A page of documents.", schema: pageOf(documentSchema) } },
    async handler({ params: path, query, principal }, deps) {
      const { org_id } = principal;
      const handle = await handleOf(deps, path, principal);
      return listPage("documents", org_id, query, {
        filters: { ...handle, filename: query.filename },
        fetch: (keyset) =>
          deps.reads.org(org_id, (connection) => listDocuments(connection, handle, query.filename ?? null, keyset)),
        idOf: (document) => document.file_id,
        present: presentDocument,
      });
    },
  }),
  define({
    id: "deleteDocuments",
    route: `DELETE ${PATH}`,
    summary: "Delete the documents of a user",
    description:
      "Deletes all documents that were uploaded for a `user_id`, or one with `filename`; an unknown file name returns 404. Runs that start later do not see them.",
    params,
    query: z.object({ filename }),
    success: { 204: { description: "Deleted." } },
    async handler({ params: path, query, principal, audit }, deps) {
      const handle = await handleOf(deps, path, principal);
      const { project_id, node_id, user_id } = handle;
      const files: string[] = [];
      for (let count = BATCH, total = 0; count === BATCH;) {
        const earlier = total;
        const removed = await deps.db.orgTransaction(principal.org_id, async (connection) => {
          const rows = await deleteDocuments(connection, handle, query.filename ?? null, BATCH);
          const documents = earlier + rows.length;
          if (rows.length < BATCH && (documents > 0 || query.filename === undefined)) {
            const file_ids = [...files, ...rows.map(({ file_id }) => file_id)].slice(0, NAMED);
            const before = { project_id, node_id, documents, file_ids };
            await audit(connection, { target: { type: "user", id: user_id }, before });
          }
          return rows;
        });
        files.push(...removed.map(({ file_id }) => file_id).slice(0, NAMED - files.length));
        await discardDocuments(deps, removed);
        count = removed.length;
        total += count;
        if (total === 0 && query.filename !== undefined) throw notFound("document");
      }
      return { status: 204 };
    },
  }),
];
