import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`conversation_id uuid, user_id text, title text null, created_at timestamptz,
  updated_at timestamptz`);

/** A visitor's conversation on a page. */
export type VisitorConversation = RowOf<typeof ROW>;

const COLUMNS = ROW.select();
/** Only the visitor's own conversations, whatever ID a request names. */
const OWN = "org_id = current_org() and visitor_id = $1::uuid";

const NEW = columns(`conversation_id uuid, org_id uuid, project_id uuid, page_id uuid, visitor_id uuid, user_id text,
  title text`);

export async function insertVisitorConversation(
  db: Db,
  conversation: { readonly [Column in NameOf<typeof NEW>]: string | null },
): Promise<void> {
  await db.query(`insert into conversations ${NEW.into}`, NEW.values(conversation));
}

export async function findVisitorConversation(
  db: Db,
  visitorId: string,
  conversationId: string,
): Promise<VisitorConversation | null> {
  return db.first(`select ${COLUMNS} from conversations where ${OWN} and conversation_id = $2::uuid`, [
    visitorId,
    conversationId,
  ]);
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
  const select = `select ${COLUMNS} from conversations where ${OWN}`;
  return selectPage(db, page, "conversation_id", select, [visitorId]);
}

export async function renameVisitorConversation(
  db: Db,
  visitorId: string,
  conversationId: string,
  title: string | null,
): Promise<VisitorConversation | null> {
  return db.first(
    `update conversations set title = $3::text, updated_at = now() where ${OWN} and conversation_id = $2::uuid returning ${COLUMNS}`,
    [visitorId, conversationId, title],
  );
}
