import { z } from "zod";
import { notFound } from "../../domain/errors.ts";
import type { Audit } from "../../services/audit/audit.ts";
import { TITLE_CHARS } from "../../domain/pages/page.ts";
import { removeConversation } from "../../services/pages/remove-conversation.ts";
import { requireProject } from "../../services/projects/projects.ts";
import {
  deleteConversations,
  findConversation,
  listConversations,
  listTurns,
  titleConversation,
  type ConversationRow,
  type TurnRow,
} from "../../stores/models/conversations.ts";
import type { Database } from "../../stores/db.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId, visibleText } from "../http/schemas.ts";

const PATH = "/v2/projects/{project_id}/conversations";
/** Most conversations deleted with one statement. */
const BATCH = 500;

const params = z.object({ project_id: pathId("project") });
const userParams = params.extend({
  user_id: visibleText(256).describe("The `user_id` of the runs; must match exactly."),
});

const conversationSchema = named("Conversation", {
  conversation_id: z.uuid(),
  user_id: z.string(),
  title: z.string().nullable(),
  page_id: z
    .uuid()
    .nullable()
    .describe("The page on which a visitor has this conversation; `null` if it is not a visitor's."),
  turns: z.int().describe("Questions and answers that models remember."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const turnSchema = named("ConversationTurn", {
  turn_id: z.uuid(),
  run_id: z.uuid(),
  path: z.string().describe("Path of the node in the run."),
  question: z.string(),
  answer: z.string(),
  created_at: z.iso.datetime(),
});

const presentConversation = (row: ConversationRow) => asDeclared(conversationSchema, row);
const presentTurn = ({ said: [question, answer], ...turn }: TurnRow) =>
  asDeclared(turnSchema, { ...turn, question, answer });

/** Deletes all conversations of a project. The last entry in the audit log has their number. */
async function removeAll(db: Database, audit: Audit, orgId: string, projectId: string): Promise<void> {
  const { project_id } = await requireProject(db, orgId, projectId, "project");
  for (let total = 0; ;) {
    const before = total;
    const removed = await db.orgTransaction(orgId, async (connection) => {
      const count = await deleteConversations(connection, project_id, null, BATCH);
      const target = { type: "project", id: project_id };
      if (count < BATCH) await audit(connection, { target, before: { project_id, conversations: before + count } });
      return count;
    });
    total += removed;
    if (removed < BATCH) return;
  }
}

const define = operationsOf({ tag: "Models", auth: "secret" });

/** `/v2/projects/{project_id}/conversations`: the memory of models, and the titles of conversations. */
export const conversationOperations = [
  define({
    id: "listConversations",
    route: `GET ${PATH}`,
    summary: "List a flow's conversations",
    description:
      "Lists the conversations that the flow's models remember, that have a title or that visitors of a page have, newest first, without their turns.",
    params,
    query: listQuery.extend({
      user: visibleText(255)
        .optional()
        .describe("Only conversations of this user, whose `user_id` begins with this text and a hyphen."),
    }),
    success: { 200: { description: "A page of conversations.", schema: pageOf(conversationSchema) } },
    async handler({ params: path, query, principal: { org_id } }, { db, reads }) {
      const { project_id } = await requireProject(db, org_id, path.project_id, "project");
      return listPage("conversations", org_id, query, {
        filters: { project_id, user: query.user },
        fetch: (keyset) =>
          reads.org(org_id, (connection) => listConversations(connection, project_id, query.user, keyset)),
        idOf: ({ conversation_id }) => conversation_id,
        present: presentConversation,
      });
    },
  }),
  define({
    id: "deleteConversations",
    route: `DELETE ${PATH}`,
    summary: "Delete all conversations",
    description: "Deletes every conversation of the flow. Later runs remember nothing of them.",
    params,
    success: { 204: { description: "Deleted." } },
    handler: ({ params: path, principal: { org_id }, audit }, { db }) => removeAll(db, audit, org_id, path.project_id),
  }),
  define({
    id: "getConversation",
    route: `GET ${PATH}/{user_id}`,
    summary: "List a conversation's turns",
    description: "Lists the turns, oldest first, as models receive them.",
    params: userParams,
    query: listQuery,
    success: { 200: { description: "A page of turns.", schema: pageOf(turnSchema) } },
    async handler({ params: path, query, principal: { org_id } }, { db, reads }) {
      const { project_id } = await requireProject(db, org_id, path.project_id, "project");
      const found = await db.org(org_id, (connection) => findConversation(connection, project_id, path.user_id));
      if (found === null) throw notFound("conversation");
      return listPage("conversation turns", org_id, query, {
        filters: { conversation_id: found },
        fetch: (keyset) => reads.org(org_id, (connection) => listTurns(connection, found, keyset)),
        idOf: ({ turn_id }) => turn_id,
        present: presentTurn,
      });
    },
  }),
  define({
    id: "changeConversation",
    route: `PATCH ${PATH}/{user_id}`,
    summary: "Change a conversation",
    description:
      "Sets the title of a `user_id`'s conversation. If the flow's models remember nothing of it yet, the conversation is created.",
    params: userParams,
    body: namedStrict("ConversationChange", {
      title: visibleText(TITLE_CHARS).nullable().describe("`null` removes the title."),
    }),
    examples: { title: { title: "Where is my parcel?" } },
    success: { 200: { description: "The conversation.", schema: conversationSchema } },
    async handler({ params: { project_id, user_id }, body: { title }, principal: { org_id }, newId, audit }, { db }) {
      await requireProject(db, org_id, project_id, "project");
      const changed = await db.orgTransaction(org_id, async (connection) => {
        const of = { org_id, project_id, user_id };
        const { before, after } = await titleConversation(connection, of, newId(), title);
        const target = { type: "user", id: user_id };
        // What people write is not recorded, only that it was set.
        const titled = (text: string | null) => ({ project_id, has_title: text !== null });
        await audit(connection, { target, before: titled(before), after: titled(title) });
        return after;
      });
      return { status: 200, body: presentConversation(changed) };
    },
  }),
  define({
    id: "deleteConversation",
    route: `DELETE ${PATH}/{user_id}`,
    summary: "Delete a conversation",
    description:
      "Deletes the conversation of one `user_id`: its title, what models remember of it, and the documents uploaded for that `user_id`. Its runs stay. That user's next run starts a new conversation.",
    params: userParams,
    success: { 204: { description: "Deleted." } },
    async handler({ params: path, principal: { org_id }, audit }, deps) {
      const { project_id } = await requireProject(deps.db, org_id, path.project_id, "project");
      const { user_id } = path;
      const target = { type: "user", id: user_id };
      if (!(await removeConversation(deps, { org_id, project_id, user_id }, audit, target)))
        throw notFound("conversation");
    },
  }),
];
