import type { Config } from "../../config.ts";
import { Problem } from "../../domain/errors.ts";
import type { KindWith } from "../../domain/flow/kinds.ts";
import { imageTypes } from "../../domain/flow/nodes/image.ts";
import { byKind, hasTrait, type ByKind } from "../../domain/flow/plan/by-kind.ts";
import type { Plan, PlanNodeOf } from "../../domain/flow/plan/types.ts";
import { MEDIA_TYPES } from "../../domain/media/media.ts";
import { z } from "zod";
import { storageOf } from "../../services/accounts/quotas.ts";
import { discardBlob, discardDocuments } from "../../services/documents/discard-documents.ts";
import { MAX_READ_AT_ONCE } from "../../services/documents/document-sweeper.ts";
import { storeUpload, type StoredUpload, type UploadRules } from "../../services/documents/store-upload.ts";
import * as documents from "../../stores/documents/documents.ts";
import type { HandlerDeps } from "../deps.ts";
import type { RequestContext } from "../http/operation.ts";
import { readMultipart } from "../http/read-multipart.ts";
import { named } from "../http/schemas.ts";

export const uploadForm = named("DocumentUpload", {
  file: z
    .file()
    .describe(
      "The document; must not be empty. The file name has 1 to 255 characters without control characters. Other form fields are ignored.",
    ),
});

type UploadKind = KindWith<"uploads", true>;
export type UploadNode = PlanNodeOf<UploadKind>;

/** The nodes of a flow that take uploads. */
export function uploadNodes(plan: Plan): readonly UploadNode[] {
  return plan.nodes.filter((node) => hasTrait(node, "uploads", true));
}

/** The owner of an upload, and the node that takes it. */
export interface UploadPlace {
  readonly org_id: string;
  readonly project_id: string;
  readonly user_id: string;
  readonly node: UploadNode;
  readonly file_id: string;
}

/** A document that an upload created, or that the same upload created earlier. */
export interface ReceivedDocument {
  readonly document: Omit<documents.DocumentRow, "text_value" | "error" | "pages" | "created_at" | "indexed_at">;
  readonly replayed: boolean;
}

/** Creates the document of an upload. Returns the existing one if this upload was already made. */
async function keep(deps: HandlerDeps, document: documents.NewDocument): Promise<documents.DocumentRow | null> {
  const { db, starter, logger, quotas } = deps;
  const { org_id, file_id } = document;
  const countStored = await storageOf(quotas, org_id);
  const made = await db.orgTransaction(org_id, async (connection) => {
    await documents.lockFilename(connection, document, document.filename);
    if (!(await documents.insertDocument(connection, document))) return null;
    const replaced = await documents.deleteReplaced(connection, document);
    await countStored(connection, document.size);
    return { replaced, pending: await documents.countPending(connection, org_id, MAX_READ_AT_ONCE + 1) };
  });
  if (!made) return earlier(deps, document);
  await discardDocuments(deps, made.replaced);
  // The row alone is sufficient: the sweeper starts the extraction if this start is lost or has to wait.
  if (made.pending > MAX_READ_AT_ONCE) return null;
  await starter
    .startIngest({ org_id, file_id })
    .catch((err: unknown) => logger.warn({ err, file_id }, "could not start the ingestion; it will be retried"));
  return null;
}

/** The document that another upload with the same Idempotency-Key created, earlier or at the same time. */
async function earlier({ db }: HandlerDeps, document: documents.NewDocument): Promise<documents.DocumentRow> {
  const known = await db.org(document.org_id, (connection) => documents.getDocument(connection, document.file_id));
  const same = known?.content_hash === document.content_hash && known.filename === document.filename;
  if (known && same) return known;
  throw new Problem("idempotency_conflict", "This Idempotency-Key was used with another file in the last 24 hours.");
}

/** What a node accepts. */
export function uploadRules(config: Config, node: UploadNode): UploadRules {
  return byKind(RULES, node, {
    maxBytes: config.MILLRACE_UPLOAD_LIMIT_BYTES,
    maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
  });
}

/**
 * Stores the file of a multipart request as a document, and starts reading it. Throws 413, 415, 422, 429, and 409 if another file was
 * uploaded with the same `file_id`; nothing is left behind then.
 */
export async function receiveUpload(
  deps: HandlerDeps,
  ctx: RequestContext,
  { node, file_id, org_id, project_id, user_id }: UploadPlace,
): Promise<ReceivedDocument> {
  const undo = ({ key }: StoredUpload): Promise<void> => discardBlob(deps, key);
  const accepted = uploadRules(deps.config, node);
  const { files } = await readMultipart(
    ctx,
    uploadForm,
    { maxFileBytes: accepted.maxBytes },
    { take: (file) => storeUpload(deps.blobs, org_id, file, accepted), undo },
  );
  const upload = files[0] as StoredUpload;
  const document: documents.NewDocument = {
    file_id,
    org_id,
    project_id,
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
    const known = await keep(deps, document);
    if (!known) return { document: { ...document, status: "pending" }, replayed: false };
    await undo(upload);
    return { document: known, replayed: true };
  } catch (error) {
    await undo(upload);
    throw error;
  }
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
