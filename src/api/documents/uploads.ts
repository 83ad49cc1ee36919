import { z } from "zod";
import { Problem, invalid, notFound } from "../../domain/errors.ts";
import type { KindWith } from "../../domain/flow/kinds.ts";
import { imageTypes } from "../../domain/flow/nodes/image.ts";
import { byKind, hasTrait } from "../../domain/flow/plan/by-kind.ts";
import type { ByKind } from "../../domain/flow/plan/by-kind.ts";
import { MEDIA_TYPES } from "../../domain/media/media.ts";
import type { Plan, PlanNodeOf } from "../../domain/flow/plan/types.ts";
import { MAX_READ_AT_ONCE } from "../../services/documents/document-sweeper.ts";
import * as documents from "../../stores/documents/documents.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { presentUploadedDocument, uploadedDocumentSchema } from "./document-presenter.ts";
import { readMultipart } from "../http/read-multipart.ts";
import { flowLimits } from "../../services/projects/deploy-flow.ts";
import { freezeDraft } from "../../services/projects/freeze-draft.ts";
import { storageOf } from "../../services/accounts/quotas.ts";
import { discardDocuments } from "../../services/documents/discard-documents.ts";
import { storeUpload } from "../../services/documents/store-upload.ts";
import type { StoredUpload, UploadRules } from "../../services/documents/store-upload.ts";
import { userHandle, visibleText } from "../http/text-fields.ts";

const ADDRESSES = [
  { path: "/upload_to_storage_user", id: "uploadDocument", summary: "Upload a document to a document node" },
  { path: "/upload_to_supabase_user", id: "uploadDocumentOlderName", summary: "Upload a document (legacy path)" },
] as const;

const query = z.object({
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
  run_draft: z
    .boolean()
    .default(false)
    .describe("`true` looks for the node in the project's draft. Needs the role `editor`; public keys cannot."),
});

const form = z
  .object({
    file: z
      .file()
      .describe(
        "The document; must not be empty. The file name has 1 to 255 characters without control characters. Other form fields are ignored.",
      ),
  })
  .meta({ id: "DocumentUpload" });

const DESCRIPTION =
  "Uploads a document to a document node of a flow. The file is stored first and read in the background: `status` starts as `pending`. Runs with the same `user_id` wait until it has been read. Uploading the same file name again for the same organisation, `user_id`, flow and node replaces the earlier file. The file type is detected from the content; the declared type is ignored. With an `Idempotency-Key` the same file is stored once; a different file with that key returns 409.";

/** `/upload_to_storage_user` and its older name. */
export function createUploadOperations(deps: ApiDeps, { flows, quotas }: ApiServices): Operation[] {
  const { config, db, blobs, runs, logger, evaluation } = deps;
  const drafts = { db, evaluation, limits: flowLimits(config) };
  const maxBytes = config.MILLRACE_UPLOAD_LIMIT_BYTES;

  const undo = async ({ key }: StoredUpload): Promise<void> => {
    await blobs
      .delete(key)
      .catch((err: unknown) => logger.warn({ err, key }, "could not delete a blob; the daily clean-up will"));
  };

  /** Creates the document of an upload. Returns the existing one if this upload was already made. */
  async function keep(document: documents.NewDocument): Promise<documents.DocumentRow | null> {
    const { org_id, file_id } = document;
    const countStored = await storageOf(quotas, org_id);
    const made = await db.orgTransaction(org_id, async (connection) => {
      await documents.lockFilename(connection, document, document.filename);
      if (!(await documents.insertDocument(connection, document))) return null;
      const replaced = await documents.deleteReplaced(connection, document);
      await countStored(connection, document.size);
      return { replaced, pending: await documents.countPending(connection, org_id, MAX_READ_AT_ONCE + 1) };
    });
    if (!made) return earlier(document);
    await discardDocuments(deps, made.replaced);
    // The row alone is sufficient: the sweeper starts the extraction if this start is lost or has to wait.
    if (made.pending > MAX_READ_AT_ONCE) return null;
    await runs
      .startIngest({ org_id, file_id })
      .catch((err: unknown) => logger.warn({ err, file_id }, "could not start the ingestion; it will be retried"));
    return null;
  }

  /** The document that another upload with the same Idempotency-Key created, earlier or at the same time. */
  async function earlier(document: documents.NewDocument): Promise<documents.DocumentRow> {
    const known = await db.org(document.org_id, (connection) => documents.getDocument(connection, document.file_id));
    const same = known?.content_hash === document.content_hash && known.filename === document.filename;
    if (known && same) return known;
    throw new Problem("idempotency_conflict", "This Idempotency-Key was used with another file in the last 24 hours.");
  }

  return ADDRESSES.map(({ path, id, summary }) =>
    defineOperation({
      id,
      method: "POST",
      path,
      tag: "Documents",
      summary,
      description: DESCRIPTION,
      auth: "public",
      query,
      multipart: form,
      idempotent: "claim",
      createdId: "file_id",
      problems: ["bad_request", "not_found", "flow_version_not_found", "quota_exceeded"],
      success: { 200: { description: "The document, not read yet.", schema: uploadedDocumentSchema } },
      async handler({ query: { org, user_id, flow_id, node_id, run_draft }, principal, ctx, newId }) {
        const { org_id } = principal;
        if (org.toLowerCase() !== org_id) throw notFound("flow");
        const { project, plan } = run_draft
          ? await freezeDraft(drafts, principal, flow_id, ["query", "run_draft"])
          : await flows.get(org_id, flow_id, -1);
        const node = documentNode(plan, node_id);
        const rules = byKind(RULES, node, { maxBytes, maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES });
        const { files } = await readMultipart(
          ctx,
          form,
          { maxFileBytes: rules.maxBytes },
          { take: (file) => storeUpload(blobs, org_id, file, rules), undo },
        );
        const upload = files[0] as StoredUpload;
        const document: documents.NewDocument = {
          file_id: newId(),
          org_id,
          project_id: project.project_id,
          node_id: node.id,
          user_id,
          filename: upload.filename,
          mime_type: upload.mime_type,
          charset: upload.charset,
          size: upload.size,
          content_hash: upload.sha256,
          blob_key: upload.key,
        };
        try {
          const known = await keep(document);
          if (!known) return { status: 200, body: presentUploadedDocument({ ...document, status: "pending" }) };
          await undo(upload);
          return { status: 200, body: presentUploadedDocument(known), headers: { "Idempotent-Replayed": "true" } };
        } catch (error) {
          await undo(upload);
          throw error;
        }
      },
    }),
  );
}

type UploadKind = KindWith<"uploads", true>;
type UploadNode = PlanNodeOf<UploadKind>;

/**
 * The node that a request addresses. Throws 422 if the flow has no document node, or if it has more than one and the request names none.
 */
function documentNode(plan: Plan, nodeId: string | undefined): UploadNode {
  const all = plan.nodes.filter((node) => hasTrait(node, "uploads", true));
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

interface UploadLimits {
  readonly maxBytes: number;
  readonly maxInputBytes: number;
}

/** What each type of node accepts. */
const RULES: ByKind<[UploadLimits], UploadRules, UploadKind> = {
  files: ({ config: { accept } }, { maxBytes }) => ({ maxBytes, accept }),
  audio: (_node, limits) => mediaRules({ kind: "audio", types: MEDIA_TYPES.audio }, limits),
  image: ({ config }, limits) => mediaRules({ kind: "image", types: imageTypes(config) }, limits),
};

function mediaRules(media: NonNullable<UploadRules["media"]>, { maxBytes, maxInputBytes }: UploadLimits): UploadRules {
  return { maxBytes: Math.min(maxBytes, maxInputBytes), media };
}
