import { deleteDocumentsOfUser } from "../../stores/documents/documents.ts";
import { deleteConversations } from "../../stores/models/conversations.ts";
import type { Audit } from "../audit/audit.ts";
import type { AuditTarget } from "../../domain/audit/audit.ts";
import { discardDocuments } from "../documents/discard-documents.ts";
import type { Parts } from "../parts.ts";

/** Most documents deleted with one statement. */
const BATCH = 500;

export type RemoveConversationDeps = Parts<"db" | "blobs" | "logger">;

/**
 * Deletes a user ID's conversation: its title, what models remember of it, and the documents uploaded for it. Its runs stay. Returns false
 * if there is none.
 */
export async function removeConversation(
  deps: RemoveConversationDeps,
  of: { readonly org_id: string; readonly project_id: string; readonly user_id: string },
  audit: Audit,
  target: AuditTarget,
): Promise<boolean> {
  const { org_id, project_id, user_id } = of;
  for (let documents = 0; ;) {
    const { removed, conversations } = await deps.db.orgTransaction(org_id, async (connection) => {
      const removed = await deleteDocumentsOfUser(connection, of, BATCH);
      documents += removed.length;
      if (removed.length === BATCH) return { removed, conversations: 0 };
      // The conversation last, so that an interrupted removal can be repeated.
      const conversations = await deleteConversations(connection, project_id, user_id, 1);
      if (conversations > 0 || documents > 0)
        await audit(connection, { target, before: { project_id, conversations, documents } });
      return { removed, conversations };
    });
    await discardDocuments(deps, removed);
    if (removed.length < BATCH) return conversations > 0 || documents > 0;
  }
}
