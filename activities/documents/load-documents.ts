import { NodeFailure } from "../../src/domain/runs/failure.ts";
import { ofKind } from "../../src/domain/flow/plan/by-kind.ts";
import type { Json } from "../../src/domain/json.ts";
import type { EvaluateInput, LoadDocumentsResult } from "../../src/domain/runs/run-report.ts";
import { loadValue, storeValue, type BlobStore } from "../../src/platform/blobs/blobs.ts";
import type { Database } from "../../src/stores/db.ts";
import { documentsOfHandle, type DocumentRow } from "../../src/stores/documents/documents.ts";
import type { PlanCache } from "../../src/services/projects/plans.ts";

/** Most documents that a run reads. With more, the node fails instead of silently omitting some. */
const MAX_DOCUMENTS = 1000;

/** The documents of the run's user ID, once all of them have been read. */
export function createLoadDocuments(db: Database, blobs: BlobStore, plans: PlanCache) {
  return async function loadDocuments({ run, plan_path, scope }: EvaluateInput): Promise<LoadDocumentsResult> {
    const node = (await plans.get(run)).node(plan_path);
    const { required } = ofKind(node, "files").config;
    const userId = scope.user_id;
    const rows =
      userId === null
        ? []
        : await db.org(run.org_id, (connection) =>
            documentsOfHandle(
              connection,
              { project_id: run.project_id, node_id: node.id, user_id: userId },
              MAX_DOCUMENTS + 1,
            ),
          );
    const pending = rows.filter(({ status }) => status === "pending").length;
    if (pending > 0) return { pending };
    if (rows.length > MAX_DOCUMENTS) {
      throw new NodeFailure(
        "too_many_documents",
        `More than ${MAX_DOCUMENTS} documents were uploaded for this user_id. Delete some.`,
      );
    }
    if (required && rows.length === 0) throw new NodeFailure("documents_missing", missing(node.id, userId));
    const documents = await Promise.all(rows.map((row) => present(row, blobs)));
    const texts = documents.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
    return { pending: 0, value: await storeValue(blobs, run.org_id, { documents, text: texts.join("\n\n") }) };
  };
}

function missing(nodeId: string, userId: string | null): string {
  return userId === null
    ? `Document node ${nodeId} needs documents, but the run has no user_id. Upload documents and start the run with their user_id.`
    : `Document node ${nodeId} needs documents, but none were uploaded for this run's user_id.`;
}

async function present(row: DocumentRow, blobs: BlobStore): Promise<{ readonly [key: string]: Json }> {
  const { file_id, filename, mime_type, pages } = row;
  if (row.status === "error" || !row.text_value) {
    const { code, message } = row.error ?? { code: "document_broken", message: "The document could not be read." };
    return { file_id, filename, mime_type, pages, error: { code, message } };
  }
  return { file_id, filename, mime_type, text: await loadValue(blobs, row.text_value), pages };
}
