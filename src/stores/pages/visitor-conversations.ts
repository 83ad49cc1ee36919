import type { Db } from "../db.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";

/** A visitor's conversation on a page. */
export interface VisitorConversation {
  readonly conversation_id: string;
  readonly user_id: string;
  readonly title: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

const COLUMNS = "conversation_id, user_id, title, created_at, updated_at";
/** Only the visitor's own conversations, whatever ID a request names. */
const OWN = "org_id = current_org() and visitor_id = $1::uuid";

export async function insertVisitorConversation(
  db: Db,
  conversation: Pick<VisitorConversation, "conversation_id" | "user_id" | "title"> & {
    readonly org_id: string;
    readonly project_id: string;
    readonly page_id: string;
    readonly visitor_id: string;
  },
): Promise<void> {
  const { conversation_id, org_id, project_id, page_id, visitor_id, user_id, title } = conversation;
  await db.query(
    `insert into conversations (conversation_id, org_id, project_id, page_id, visitor_id, user_id, title)
      values ($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::text, $7::text)`,
    [conversation_id, org_id, project_id, page_id, visitor_id, user_id, title],
  );
}

export async function findVisitorConversation(
  db: Db,
  visitorId: string,
  conversationId: string,
): Promise<VisitorConversation | null> {
  return db.first<VisitorConversation>(
    `select ${COLUMNS} from conversations where ${OWN} and conversation_id = $2::uuid`,
    [visitorId, conversationId],
  );
}

/** Records that a conversation is used, and titles it if it has no title; false if the visitor does not have it. */
export async function touchVisitorConversation(
  db: Db,
  visitorId: string,
  conversationId: string,
  title: string | null,
): Promise<boolean> {
  return db.any(
    `update conversations set updated_at = now(), title = coalesce(title, $3::text) where ${OWN} and conversation_id = $2::uuid`,
    [visitorId, conversationId, title],
  );
}

export async function listVisitorConversations(
  db: Db,
  visitorId: string,
  page: Keyset,
): Promise<VisitorConversation[]> {
  const { bound, compare, order } = keysetSql(page);
  return db.query<VisitorConversation>(
    `select ${COLUMNS} from conversations where ${OWN} and conversation_id ${compare} $2::uuid
      order by conversation_id ${order} limit $3::int`,
    [visitorId, bound, page.limit],
  );
}

export async function renameVisitorConversation(
  db: Db,
  visitorId: string,
  conversationId: string,
  title: string | null,
): Promise<VisitorConversation | null> {
  return db.first<VisitorConversation>(
    `update conversations set title = $3::text, updated_at = now() where ${OWN} and conversation_id = $2::uuid returning ${COLUMNS}`,
    [visitorId, conversationId, title],
  );
}
