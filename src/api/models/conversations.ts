import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import type { Audit } from "../../services/audit/audit.ts";
import { requireProject } from "../../services/projects/projects.ts";
import {
  deleteConversations,
  findConversation,
  listConversations,
  listTurns,
} from "../../stores/models/conversations.ts";
import type { ConversationRow, TurnRow } from "../../stores/models/conversations.ts";
import type { ApiDeps } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { visibleText } from "../http/text-fields.ts";

const COMMON = { tag: "Models", auth: "secret" } as const;
const PATH = "/v2/projects/{project_id}/conversations";
/** Most conversations deleted with one statement. */
const BATCH = 500;

const params = z.object({ project_id: pathId("project") });
const userParams = params.extend({
  user_id: visibleText(256).describe("The `user_id` of the runs; must match exactly."),
});

const conversationSchema = z
  .object({
    conversation_id: z.uuid(),
    user_id: z.string(),
    turns: z.int(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "Conversation" });

const turnSchema = z
  .object({
    turn_id: z.uuid(),
    run_id: z.uuid(),
    path: z.string().describe("Path of the node in the run."),
    question: z.string(),
    answer: z.string(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "ConversationTurn" });

const presentConversation = ({ conversation_id, user_id, turns, created_at, updated_at }: ConversationRow) => ({
  conversation_id,
  user_id,
  turns,
  created_at,
  updated_at,
});

const presentTurn = ({ turn_id, run_id, path, said: [question, answer], created_at }: TurnRow) => ({
  turn_id,
  run_id,
  path,
  question,
  answer,
  created_at,
});

/** `/v2/projects/{project_id}/conversations`: the memory of models. */
export function createConversationOperations({ db, reads }: ApiDeps): Operation[] {
  /** Deletes the conversation of a user, or all of them. The last entry in the audit log has their number. */
  async function remove(audit: Audit, orgId: string, projectId: string, userId: string | null): Promise<number> {
    const { project_id } = await requireProject(db, orgId, projectId, "project");
    const target = userId === null ? { type: "project", id: project_id } : { type: "user", id: userId };
    for (let total = 0; ;) {
      const before = total;
      const removed = await db.orgTransaction(orgId, async (connection) => {
        const count = await deleteConversations(connection, project_id, userId, BATCH);
        const conversations = before + count;
        if (count < BATCH && (userId === null || conversations > 0))
          await audit(connection, { target, before: { project_id, conversations } });
        return count;
      });
      total += removed;
      if (removed < BATCH) return total;
    }
  }

  return [
    defineOperation({
      ...COMMON,
      id: "listConversations",
      method: "GET",
      path: PATH,
      summary: "List a flow's conversations",
      description:
        "Lists the conversations that the flow's models remember, most recently used first, without their turns.",
      params,
      query: listQuery,
      success: {
        200: { description: "A page of conversations.", schema: pageOf(conversationSchema, "ConversationPage") },
      },
      async handler({ params: path, query, principal: { org_id } }) {
        const { project_id } = await requireProject(db, org_id, path.project_id, "project");
        return listPage({
          list: "conversations",
          orgId: org_id,
          query,
          filters: { project_id },
          fetch: (keyset) => reads.org(org_id, (connection) => listConversations(connection, project_id, keyset)),
          idOf: ({ conversation_id }) => conversation_id,
          present: presentConversation,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteConversations",
      method: "DELETE",
      path: PATH,
      summary: "Delete all conversations",
      description: "Deletes every conversation of the flow. Later runs remember nothing of them.",
      params,
      success: { 204: { description: "Deleted." } },
      async handler({ params: path, principal: { org_id }, audit }) {
        await remove(audit, org_id, path.project_id, null);
        return { status: 204 };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getConversation",
      method: "GET",
      path: `${PATH}/{user_id}`,
      summary: "List a conversation's turns",
      description: "Lists the turns, oldest first, as models receive them.",
      params: userParams,
      query: listQuery,
      success: { 200: { description: "A page of turns.", schema: pageOf(turnSchema, "ConversationTurnPage") } },
      async handler({ params: path, query, principal: { org_id } }) {
        const { project_id } = await requireProject(db, org_id, path.project_id, "project");
        const found = await db.org(org_id, (connection) => findConversation(connection, project_id, path.user_id));
        if (found === null) throw notFound("conversation");
        return listPage({
          list: "conversation turns",
          orgId: org_id,
          query,
          filters: { conversation_id: found },
          fetch: (keyset) => reads.org(org_id, (connection) => listTurns(connection, found, keyset)),
          idOf: ({ turn_id }) => turn_id,
          present: presentTurn,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteConversation",
      method: "DELETE",
      path: `${PATH}/{user_id}`,
      summary: "Delete a conversation",
      description: "Deletes the conversation of one `user_id`. That user's next run starts a new one.",
      params: userParams,
      success: { 204: { description: "Deleted." } },
      async handler({ params: path, principal: { org_id }, audit }) {
        if ((await remove(audit, org_id, path.project_id, path.user_id)) === 0) throw notFound("conversation");
        return { status: 204 };
      },
    }),
  ];
}
