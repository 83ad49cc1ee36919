import { uuidv7 } from "uuidv7";
import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import { visitorUserId } from "../../domain/pages/page.ts";
import { DOCUMENT_STATUSES } from "../../domain/documents/document.ts";
import { discardDocuments } from "../../services/documents/discard-documents.ts";
import { flowForVisitor } from "../../services/pages/pages.ts";
import { inConversation } from "../../services/pages/visitor-runs.ts";
import { deleteDocuments, documentsOfHandle, type DocumentRow } from "../../stores/documents/documents.ts";
import { findVisitorConversation } from "../../stores/pages/visitor-conversations.ts";
import { receiveUpload, uploadForm, uploadNodes, type UploadNode } from "../documents/receive-upload.ts";
import type { HandlerDeps } from "../deps.ts";
import { asDeclared, givenId, named } from "../http/schemas.ts";
import { operationsOf, type RequestContext } from "../http/operation.ts";
import { admitVisitors, visitOf, visitorAudit, PAGE_PROBLEMS, pageToken } from "./admission.ts";

const PATH = "/f/{token}/documents/{node_id}";
/** Most documents of a conversation that are listed, and that are deleted with one statement. */
const MOST = 200;

const params = pageToken.extend({ node_id: z.string().min(1).max(64).describe("ID of the document node.") });
const conversationId = givenId.describe("A conversation of this visitor.");
const ofConversation = z.object({ conversation_id: conversationId });

const documentSchema = named("PageDocument", {
  file_id: z.uuid().describe("The value of an audio or image input that takes this file."),
  conversation_id: z.uuid(),
  filename: z.string(),
  size: z.int().describe("Size in bytes."),
  mime_type: z.string(),
  status: z.enum(DOCUMENT_STATUSES).describe("`pending` until its text has been extracted."),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

type Presentable = Pick<DocumentRow, "file_id" | "filename" | "size" | "mime_type" | "status"> &
  Partial<Pick<DocumentRow, "error">>;

function present(document: Presentable, conversation_id: string): z.infer<typeof documentSchema> {
  return asDeclared(documentSchema, { error: null, ...document, conversation_id });
}

/** The node with this ID. Throws 404 if the flow has none that takes uploads. */
async function nodeOf({ flows }: HandlerDeps, ctx: RequestContext, nodeId: string): Promise<UploadNode> {
  const { page } = visitOf(ctx);
  const { plan } = await flowForVisitor(flows, page);
  const node = uploadNodes(plan).find(({ id }) => id === nodeId);
  if (node === undefined) throw notFound("document node");
  return node;
}

/** The owner of the documents of a conversation of the visitor. Throws 404 for anyone else's. */
async function handleOf({ db }: HandlerDeps, ctx: RequestContext, nodeId: string, conversation: string) {
  const { page, visitor } = visitOf(ctx);
  const { visitor_id } = visitor;
  const found = await db.org(page.org_id, (connection) =>
    findVisitorConversation(connection, visitor_id, conversation),
  );
  if (found === null) throw notFound("conversation");
  return { project_id: page.project_id, node_id: nodeId, user_id: visitorUserId(visitor_id, conversation) };
}

const define = operationsOf({ tag: "Pages", auth: "none", visitor: "required", audit: "run", admit: admitVisitors });

/** `/f/{token}/documents`: the documents that a visitor of a page uploads for a conversation. */
export const pageDocumentOperations = [
  define({
    id: "uploadPageDocument",
    route: `POST ${PATH}`,
    summary: "Upload a document on a page",
    description:
      "Uploads a document to a document node, for a conversation of this visitor; without `conversation_id` a new one begins. Only runs of that conversation read it. The same file name again replaces the earlier file. A flow without such a node returns 404.",
    params,
    query: z.object({ conversation_id: conversationId.optional() }),
    multipart: uploadForm,
    problems: [...PAGE_PROBLEMS, "bad_request", "quota_exceeded"],
    success: { 200: { description: "The document, not read yet.", schema: documentSchema } },
    async handler({ params: { node_id }, query, ctx }, deps) {
      const { db, config } = deps;
      const { page, visitor, network } = visitOf(ctx);
      const { org_id, project_id, page_id } = page;
      await deps.pages.countStart(page, visitor.visitor_id, network);
      const node = await nodeOf(deps, ctx, node_id);
      const of = { conversation_id: query.conversation_id, title: null };
      const { document, conversation_id } = await inConversation(db, { page, visitor }, of, async (conversation) => {
        const place = { org_id, project_id, user_id: conversation.user_id, node, file_id: uuidv7() };
        return { ...(await receiveUpload(deps, ctx, place)), ...conversation };
      });
      const audit = visitorAudit(config, ctx, "uploadPageDocument");
      const after = { project_id, node_id: node.id, file_id: document.file_id, size: document.size };
      await db.org(org_id, (connection) => audit(connection, { target: { type: "page", id: page_id }, after }));
      return { status: 200, body: present(document, conversation_id) };
    },
  }),
  define({
    id: "listPageDocuments",
    route: `GET ${PATH}`,
    summary: "List the documents of a visitor",
    description: `Lists the first ${MOST} documents of a conversation of this visitor.`,
    params,
    query: ofConversation,
    problems: PAGE_PROBLEMS,
    success: {
      200: {
        description: "The documents, oldest first.",
        schema: named("PageDocumentList", { data: z.array(documentSchema) }),
      },
    },
    async handler({ params: { node_id }, query: { conversation_id }, ctx }, deps) {
      const { page } = visitOf(ctx);
      const handle = await handleOf(deps, ctx, node_id, conversation_id);
      const rows = await deps.db.org(page.org_id, (connection) => documentsOfHandle(connection, handle, MOST));
      return { status: 200, body: { data: rows.map((row) => present(row, conversation_id)) } };
    },
  }),
  define({
    id: "deletePageDocument",
    route: `DELETE ${PATH}`,
    summary: "Delete a document of a visitor",
    description: "Deletes a document of a conversation of this visitor. Runs that start later do not read it.",
    params,
    query: ofConversation.extend({ filename: z.string().min(1).max(255).describe("Name of the file.") }),
    problems: PAGE_PROBLEMS,
    success: { 204: { description: "Deleted." } },
    async handler({ params: { node_id }, query: { conversation_id, filename }, ctx }, deps) {
      const { db, config } = deps;
      const { page } = visitOf(ctx);
      const { org_id, project_id, page_id } = page;
      const handle = await handleOf(deps, ctx, node_id, conversation_id);
      const audit = visitorAudit(config, ctx, "deletePageDocument");
      const removed = await db.orgTransaction(org_id, async (connection) => {
        const rows = await deleteDocuments(connection, handle, filename, MOST);
        if (rows.length === 0) throw notFound("document");
        const before = { project_id, node_id, file_ids: rows.map(({ file_id }) => file_id) };
        await audit(connection, { target: { type: "page", id: page_id }, before });
        return rows;
      });
      await discardDocuments(deps, removed);
    },
  }),
];
