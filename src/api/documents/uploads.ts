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
import { storageOf } from "../../services/accounts/quotas.ts";
import { discardDocuments } from "../../services/documents/discard-documents.ts";
import { storeUpload } from "../../services/documents/store-upload.ts";
import type { StoredUpload, UploadRules } from "../../services/documents/store-upload.ts";
import { userHandle, visibleText } from "../http/text-fields.ts";

const ADDRESSES = [
  { path: "/upload_to_storage_user", id: "uploadDocument", summary: "Upload a document to a flow's document node" },
  { path: "/upload_to_supabase_user", id: "uploadDocumentOlderName", summary: "The same under its older name" },
] as const;

const query = z.object({
  org: visibleText(64).describe("Id of the credential's organisation."),
  user_id: userHandle,
  flow_id: visibleText(64).describe("Id of the flow (project)."),
  node_id: visibleText(64)
    .optional()
    // Of the document only: which node is meant depends on the flow.
    .meta({
      default: "doc-0",
      description:
        "The document node; may be left out where the flow has exactly one, whatever it is called. Nodes that read recordings (audio) or pictures (image) are always named.",
    }),
});

const form = z
  .object({
    file: z
      .file()
      .describe(
        "The document; not empty. Its file name has 1 to 255 characters, none of them a control character. Other fields are ignored.",
      ),
  })
  .meta({ id: "DocumentUpload" });

const DESCRIPTION = `The file is stored and then read in the background: \`status\` is \`pending\` at first. Runs with the same \`user_id\` wait until it has been read.
The same file name again under the same organisation, handle, flow and node replaces the earlier file. The type of the file is detected from its content, not from what
the request calls it. With an \`Idempotency-Key\` the same file is stored once; another one under that key is a 409.`;

/** `/upload_to_storage_user` and its older name. */
export function createUploadOperations(deps: ApiDeps, { flows, quotas }: ApiServices): Operation[] {
  const { config, db, blobs, runs, logger } = deps;
  const maxBytes = config.MILLRACE_UPLOAD_LIMIT_BYTES;

  const undo = async ({ key }: StoredUpload): Promise<void> => {
    await blobs.delete(key).catch((err: unknown) => logger.warn({ err, key }, "blob left behind"));
  };

  /** Makes the upload a document. Answers the existing one if this upload was already made. */
  async function keep(document: documents.NewDocument): Promise<documents.DocumentRow | null> {
    const { org_id, file_id } = document;
    const countStored = await storageOf(quotas, org_id);
    const made = await db.orgTransaction(org_id, async (client) => {
      await documents.lockFilename(client, document, document.filename);
      if (!(await documents.insertDocument(client, document))) return null;
      const replaced = await documents.deleteReplaced(client, document);
      await countStored(client, document.size);
      return { replaced, pending: await documents.countPending(client, org_id, MAX_READ_AT_ONCE + 1) };
    });
    if (!made) return earlier(document);
    await discardDocuments(deps, made.replaced);
    // The row is what counts: the sweeper handles a start that is lost or has to wait.
    if (made.pending > MAX_READ_AT_ONCE) return null;
    await runs
      .startIngest({ org_id, file_id })
      .catch((err: unknown) => logger.warn({ err, file_id }, "ingestion not started"));
    return null;
  }

  /** The document that another upload under the same Idempotency-Key made, earlier or at the same time. */
  async function earlier(document: documents.NewDocument): Promise<documents.DocumentRow> {
    const known = await db.org(document.org_id, (client) => documents.getDocument(client, document.file_id));
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
      problems: ["bad_request", "not_found", "flow_version_not_found", "quota_exceeded"],
      success: { 200: { description: "The document, still to be read.", schema: uploadedDocumentSchema } },
      async handler({ query: { org, user_id, flow_id, node_id }, principal, ctx, newId }) {
        const { org_id } = principal;
        if (org.toLowerCase() !== org_id) throw notFound("flow");
        const { project, plan } = await flows.get(org_id, flow_id, -1);
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
 * The node meant by the request. Throws 422 if there is none, or if there is more than one document node and none is
 * named.
 */
function documentNode(plan: Plan, nodeId: string | undefined): UploadNode {
  const all = plan.nodes.filter((node) => hasTrait(node, "uploads", true));
  const nodes = all.filter(({ type }) => type === "files");
  const [only, ...others] = nodes;
  const names = all.map(({ id }) => id).join(", ");
  if (all.length === 0) throw invalid(["query", "flow_id"], "The flow has no document node", "value_error");
  if (nodeId === undefined) {
    if (!only) throw invalid(["query", "node_id"], `The flow has no document node; name one of ${names}`, "missing");
    if (others.length > 0)
      throw invalid(["query", "node_id"], `The flow has several document nodes; name one of ${names}`, "missing");
    return only;
  }
  const node = all.find(({ id }) => id === nodeId);
  if (!node) throw invalid(["query", "node_id"], `The flow has no such document node; it has ${names}`);
  return node;
}

interface UploadLimits {
  readonly maxBytes: number;
  readonly maxInputBytes: number;
}

/** What a node of each kind takes. */
const RULES: ByKind<[UploadLimits], UploadRules, UploadKind> = {
  files: ({ config: { accept } }, { maxBytes }) => ({ maxBytes, accept }),
  audio: (_node, limits) => mediaRules({ kind: "audio", types: MEDIA_TYPES.audio }, limits),
  image: ({ config }, limits) => mediaRules({ kind: "image", types: imageTypes(config) }, limits),
};

function mediaRules(media: NonNullable<UploadRules["media"]>, { maxBytes, maxInputBytes }: UploadLimits): UploadRules {
  return { maxBytes: Math.min(maxBytes, maxInputBytes), media };
}
