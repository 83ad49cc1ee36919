import { z } from "zod";
import { notFound, invalid } from "../../domain/errors.ts";
import {
  deleteDocuments,
  listDocuments,
  type DocumentHandle,
  type DocumentRow,
} from "../../stores/documents/documents.ts";
import { requireProject } from "../../services/projects/projects.ts";
import { discardDocuments } from "../../services/documents/discard-documents.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { DOCUMENT_STATUSES } from "../../domain/documents/document.ts";
import type { Plan } from "../../domain/flow/plan/types.ts";
import { freezeDraft } from "../../services/projects/drafts.ts";
import type { HandlerDeps } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf } from "../http/operation.ts";
import { asDeclared, named, pathId, userHandle, visibleText } from "../http/schemas.ts";
import {
  VERSION_PROBLEMS,
  environmentMember,
  requireOneVersion,
  requirePublicEnvironment,
} from "../http/run-request.ts";
import { receiveUpload, uploadForm, uploadNodes, type UploadNode } from "./receive-upload.ts";

/** An uploaded document as the upload returns it. */
const uploadedDocumentSchema = named("UploadedDocument", {
  file_id: z.uuid(),
  filename: z.string(),
  size: z.int().describe("Size in bytes."),
  content_hash: z.string().describe("SHA-256 of the content, in hexadecimal digits."),
  mime_type: z.string().describe("Type of the content, whatever type the upload declared."),
  org: z.uuid(),
  user_id: z.string(),
  flow_id: z.uuid(),
  node_id: z.string(),
  status: z.enum(DOCUMENT_STATUSES).describe("`pending` until its text has been extracted."),
});

type UploadedDocumentView = z.infer<typeof uploadedDocumentSchema>;

const documentSchema = named("Document", {
  ...uploadedDocumentSchema.shape,
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe("Why its text could not be extracted."),
  pages: z.int().nullable(),
  created_at: z.iso.datetime(),
  indexed_at: z.iso.datetime().nullable(),
});

export type DocumentView = z.infer<typeof documentSchema>;

type Presentable = Omit<DocumentRow, "blob_key" | "text_value" | "error" | "pages" | "created_at" | "indexed_at">;

function presentUploadedDocument(document: Presentable): UploadedDocumentView {
  return asDeclared(uploadedDocumentSchema, { ...document, org: document.org_id, flow_id: document.project_id });
}

function presentDocument(document: DocumentRow): DocumentView {
  return asDeclared(documentSchema, { ...document, ...presentUploadedDocument(document) });
}

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

const define = operationsOf({ tag: "Documents", auth: "public" });

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
    },
  }),
];

const ADDRESSES = [
  { path: "/upload_to_storage_user", id: "uploadDocument", summary: "Upload a document to a document node" },
  { path: "/upload_to_supabase_user", id: "uploadDocumentOlderName", summary: "Upload a document (legacy path)" },
] as const;

const uploadQuery = z.object({
  org: visibleText(64).describe("ID of the credential's organisation."),
  user_id: userHandle,
  flow_id: visibleText(64).describe("ID of the flow (its project ID)."),
  node_id: visibleText(64)
    .optional()
    // This default is only documented: the node that is used depends on the flow.
    .meta({
      default: "doc-0",
      description:
        "ID of the document node. Can be omitted if the flow has exactly one document node. Nodes that read audio or images must always be named.",
    }),
  environment: environmentMember.describe(
    "Looks for the node in the version of this environment. Default: `production`. Public keys can name no other one.",
  ),
  run_draft: z
    .boolean()
    .default(false)
    .describe("`true` looks for the node in the project's draft. Needs the role `editor`; public keys cannot."),
});

const DESCRIPTION =
  "Uploads a document to a document node of a flow. The file is stored first and read in the background: `status` starts as `pending`. Runs with the same `user_id` wait until it has been read. Uploading the same file name again for the same organisation, `user_id`, flow and node replaces the earlier file. The file type is detected from the content; the declared type is ignored. With an `Idempotency-Key` the same file is stored once; a different file with that key returns 409.";

/** `/upload_to_storage_user` and its older name. */
export const uploadOperations = ADDRESSES.map(({ path, id, summary }) =>
  define({
    id,
    route: `POST ${path}`,
    summary,
    description: DESCRIPTION,
    query: uploadQuery,
    multipart: uploadForm,
    idempotent: "claim",
    createdId: "file_id",
    problems: [...VERSION_PROBLEMS, "bad_request", "not_found", "quota_exceeded"],
    success: { 200: { description: "The document, not read yet.", schema: uploadedDocumentSchema } },
    async handler({ query: { org, user_id, flow_id, node_id, environment, run_draft }, principal, ctx, newId }, deps) {
      const { org_id } = principal;
      if (org.toLowerCase() !== org_id) throw notFound("flow");
      requireOneVersion("query", { version: -1, draft: run_draft, environment });
      if (principal.access === "public") requirePublicEnvironment(environment);
      const { project, plan } = run_draft
        ? await freezeDraft(deps, principal, flow_id, ["query", "run_draft"])
        : await deps.flows.get(org_id, flow_id, -1, environment);
      const node = documentNode(plan, node_id);
      const { project_id } = project;
      const place = { org_id, project_id, user_id, node, file_id: newId() };
      const { document, replayed } = await receiveUpload(deps, ctx, place);
      const body = presentUploadedDocument(document);
      return { status: 200, body, ...(replayed && { headers: { "Idempotent-Replayed": "true" } }) };
    },
  }),
);

/**
 * The node that a request addresses. Throws 422 if the flow has no document node, or if it has more than one and the request names none.
 */
function documentNode(plan: Plan, nodeId: string | undefined): UploadNode {
  const all = uploadNodes(plan);
  const nodes = all.filter(({ type }) => type === "files");
  const [only, ...others] = nodes;
  const names = all.map(({ id }) => id).join(", ");
  if (all.length === 0) throw invalid(["query", "flow_id"], "The flow has no document node", "value_error");
  if (nodeId === undefined) {
    if (!only)
      throw invalid(["query", "node_id"], `The flow has no document node; use one of these nodes: ${names}`, "missing");
    if (others.length > 0)
      throw invalid(
        ["query", "node_id"],
        `The flow has several document nodes; set the node to one of: ${names}`,
        "missing",
      );
    return only;
  }
  const node = all.find(({ id }) => id === nodeId);
  if (!node)
    throw invalid(["query", "node_id"], `The flow does not have this document node; its document nodes are ${names}`);
  return node;
}
