import { uuidv7 } from "uuidv7";
import type { ChatMessage } from "../../domain/models/chat.ts";
import type { Database, Db } from "../../stores/db.ts";
import { deleteConversations, earlierTurns, insertTurn } from "../../stores/models/conversations.ts";

/** Longest question and answer that are remembered (characters). A longer turn is omitted. */
const MAX_CHARS = 32 * 1024;
const FORGOTTEN_AT_ONCE = 1000;

/** A node with a memory, and its run. */
export interface Remembering {
  readonly org_id: string;
  readonly project_id: string;
  readonly run_id: string;
  readonly path: string;
  /** The user whose turns are remembered. A run without a user ID has no memory. */
  readonly user_id: string | null;
}

/** The last turns of the same user and node, as messages. */
export async function recall(db: Database, of: Remembering, turns: number): Promise<ChatMessage[]> {
  const { org_id, project_id, user_id, path, run_id } = of;
  if (user_id === null) return [];
  const said = await db.org(org_id, (connection) =>
    earlierTurns(connection, { project_id, user_id, path }, run_id, turns),
  );
  return said.flatMap(([question, answer]): ChatMessage[] => [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ]);
}

/** Stores a turn. */
export async function remember(db: Database, of: Remembering, question: string, answer: string): Promise<void> {
  const { org_id, project_id, user_id, path, run_id } = of;
  if (user_id === null || question.length > MAX_CHARS || answer.length > MAX_CHARS) return;
  const ids = { turn_id: uuidv7(), conversation_id: uuidv7() };
  await db.org(org_id, (connection) =>
    insertTurn(connection, { ...ids, org_id, project_id, user_id, path, run_id, said: [question, answer] }),
  );
}

/** Deletes all remembered conversations of a project. */
export async function forgetProject(db: Db, projectId: string): Promise<void> {
  while ((await deleteConversations(db, projectId, null, FORGOTTEN_AT_ONCE)) === FORGOTTEN_AT_ONCE);
}
