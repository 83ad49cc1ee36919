import { KEPT_FOR } from "../system/retention.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`conversation_id uuid, user_id text, title text null, page_id uuid null, created_at timestamptz,
  updated_at timestamptz`);
const TURN = columns("turn_id uuid, run_id uuid, path text, said jsonb, created_at timestamptz");

/** The conversation of a user ID with a flow's models. */
export interface ConversationRow extends RowOf<typeof ROW> {
  /** The page on which a visitor has this conversation; null if it is not a visitor's. */
  readonly page_id: string | null;
  readonly turns: number;
}

export interface TurnRow extends RowOf<typeof TURN> {
  readonly said: readonly [question: string, answer: string];
}

/** The user and the node of a conversation. */
export interface Memory {
  readonly project_id: string;
  readonly user_id: string;
  readonly path: string;
}

/** The last turns of a node from other runs, the oldest first. */
export async function earlierTurns(
  db: Db,
  memory: Memory,
  exceptRun: string,
  limit: number,
): Promise<TurnRow["said"][]> {
  const said = await db.column<TurnRow["said"]>(
    `select t.said from conversations c join conversation_turns t using (conversation_id)
      where c.org_id = current_org() and c.project_id = $1::uuid and c.user_id = $2::text and t.path = $3::text and t.run_id <> $4::uuid
      order by t.turn_id desc limit $5::int`,
    [memory.project_id, memory.user_id, memory.path, exceptRun, limit],
  );
  return said.toReversed();
}

const NEW_TURN = columns(`conversation_id uuid, org_id uuid, project_id uuid, user_id text, turn_id uuid, run_id uuid,
  path text, said jsonb`);

/** Adds a turn. If a node is executed again, its turn replaces the first one. */
export async function insertTurn(
  db: Db,
  turn: Memory & Pick<TurnRow, "turn_id" | "run_id" | "said"> & { org_id: string; conversation_id: string },
): Promise<void> {
  await db.query(
    `with c as (
        insert into conversations (conversation_id, org_id, project_id, user_id) values ($1::uuid, $2::uuid, $3::uuid, $4::text)
        on conflict (project_id, user_id) do update set updated_at = now() returning conversation_id
      )
      insert into conversation_turns (turn_id, conversation_id, org_id, run_id, path, said)
      select $5::uuid, c.conversation_id, $2::uuid, $6::uuid, $7::text, $8::jsonb from c
      on conflict (run_id, path) do update set said = excluded.said`,
    NEW_TURN.values(turn),
  );
}

const COLUMNS = `${ROW.select()},
  (select count(*)::int from conversation_turns t where t.conversation_id = c.conversation_id) as turns`;

/** A page of a project's conversations: all, or those of one user, whose user IDs begin with `<user>-`. */
export async function listConversations(
  db: Db,
  projectId: string,
  user: string | undefined,
  page: Keyset,
): Promise<ConversationRow[]> {
  const select = `select ${COLUMNS} from conversations c
    where org_id = current_org() and project_id = $1::uuid
      and ($2::text is null or starts_with(user_id, $2 || '-'))`;
  return selectPage(db, page, "conversation_id", select, [projectId, user ?? null]);
}

/** Sets the title of a user ID's conversation, which is made if there is none. Returns it, and its title before. */
export async function titleConversation(
  db: Db,
  conversation: Omit<Memory, "path"> & { readonly org_id: string },
  newId: string,
  title: string | null,
): Promise<{ readonly before: string | null; readonly after: ConversationRow }> {
  const { org_id, project_id, user_id } = conversation;
  const before = await db.value<string | null>(
    `select title from conversations where org_id = current_org() and project_id = $1::uuid and user_id = $2::text
      for no key update`,
    [project_id, user_id],
  );
  await db.query(
    `insert into conversations (conversation_id, org_id, project_id, user_id, title)
      values ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::text)
      on conflict (project_id, user_id) do update set title = excluded.title, updated_at = now()`,
    [newId, org_id, project_id, user_id, title],
  );
  const after = await db.one<ConversationRow>(
    `select ${COLUMNS} from conversations c
      where org_id = current_org() and project_id = $1::uuid and user_id = $2::text`,
    [project_id, user_id],
  );
  return { before, after };
}

/** The id of a conversation; null if there is none. */
export async function findConversation(db: Db, projectId: string, userId: string): Promise<string | null> {
  return db.value(
    "select conversation_id from conversations where org_id = current_org() and project_id = $1::uuid and user_id = $2::text",
    [projectId, userId],
  );
}

/** A page of a conversation's turns. */
export async function listTurns(db: Db, conversationId: string, page: Keyset): Promise<TurnRow[]> {
  const select = `select ${TURN.select()} from conversation_turns
    where org_id = current_org() and conversation_id = $1::uuid`;
  return selectPage(db, page, "turn_id", select, [conversationId]);
}

/** Deletes a conversation, or all of a project, up to `limit`. Returns how many were deleted. */
export async function deleteConversations(
  db: Db,
  projectId: string,
  userId: string | null,
  limit: number,
): Promise<number> {
  return db.count(
    `delete from conversations where conversation_id in (
        select conversation_id from conversations where org_id = current_org() and project_id = $1::uuid
          and ($2::text is null or user_id = $2::text) limit $3::int
      )`,
    [projectId, userId, limit],
  );
}

/**
 * Removes up to `limit` expired turns (they expire as runs do), organisations in turn, and conversations without turns. Returns how many
 * turns.
 */
export async function purgeTurns(db: Db, days: number | null, limit: number): Promise<number> {
  const removed = await db.count(
    `with kept as (${KEPT_FOR}),
      due as (
        select t.turn_id, row_number() over (partition by k.org_id order by t.created_at) as place
        from kept k join conversations c on c.project_id = k.project_id cross join lateral (
          select t.turn_id, t.created_at from conversation_turns t
          where t.conversation_id = c.conversation_id and t.created_at < now() - make_interval(days => k.days)
          order by t.created_at limit $2::int
        ) as t
      )
      delete from conversation_turns where turn_id in (
        select turn_id from conversation_turns
        where turn_id in (select turn_id from due order by place, turn_id limit $2::int) for update skip locked
      )`,
    [days, limit],
  );
  await db.query(
    `with kept as (${KEPT_FOR})
      delete from conversations c using kept k where c.project_id = k.project_id
        and c.updated_at < now() - make_interval(days => k.days)
        and not exists (select from conversation_turns t where t.conversation_id = c.conversation_id)`,
    [days],
  );
  return removed;
}
