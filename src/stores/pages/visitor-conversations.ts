import { columns } from "../columns.ts";
import type { NameOf } from "../columns.ts";
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
  const { bound, compare, order } = keysetSql(page);
  return db.query(
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
  return db.first(
    `update conversations set title = $3::text, updated_at = now() where ${OWN} and conversation_id = $2::uuid returning ${COLUMNS}`,
    [visitorId, conversationId, title],
  );
}
