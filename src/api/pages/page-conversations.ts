import { z } from "zod";
import { required } from "../../domain/errors.ts";
import { TITLE_CHARS } from "../../domain/pages/page.ts";
import { removeConversation } from "../../services/pages/remove-conversation.ts";
import {
  findVisitorConversation,
  listVisitorConversations,
  renameVisitorConversation,
  type VisitorConversation,
} from "../../stores/pages/visitor-conversations.ts";
import { listRuns } from "../../stores/runs/run-lists.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { HandlerDeps } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, type RequestContext } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId, visibleText } from "../http/schemas.ts";
import { admitVisitors, visitOf, visitorAudit, PAGE_PROBLEMS, pageToken } from "./admission.ts";
import { pageRunSchema, viewPageRuns } from "./page-run-views.ts";

const PATH = "/f/{token}/conversations";
const params = pageToken.extend({ conversation_id: pathId("conversation") });
/** Few, because each may have long outputs. */
const MESSAGES = 20;

const conversationSchema = named("PageConversation", {
  conversation_id: z.uuid(),
  title: z.string().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const present = (conversation: VisitorConversation) => asDeclared(conversationSchema, conversation);

/** A conversation of the visitor. Throws 404 for anyone else's. */
async function own({ db }: HandlerDeps, ctx: RequestContext, conversationId: string): Promise<VisitorConversation> {
  const { page, visitor } = visitOf(ctx);
  const found = await db.org(page.org_id, (connection) =>
    findVisitorConversation(connection, visitor.visitor_id, conversationId),
  );
  return required(found, "conversation");
}

const define = operationsOf({
  tag: "Pages",
  auth: "none",
  visitor: "required",
  audit: "run",
  admit: admitVisitors,
  problems: PAGE_PROBLEMS,
});

/** `/f/{token}/conversations`: the conversations of one visitor of a page. */
export const pageConversationOperations = [
  define({
    id: "listPageConversations",
    route: `GET ${PATH}`,
    summary: "List a visitor's conversations",
    description: "Lists the conversations of this visitor on this page, newest first.",
    params: pageToken,
    query: listQuery,
    success: {
      200: { description: "A page of conversations.", schema: pageOf(conversationSchema, "PageConversationList") },
    },
    async handler({ query, ctx }, { db }) {
      const { page, visitor } = visitOf(ctx);
      const { visitor_id } = visitor;
      return listPage("page-conversations", page.org_id, query, {
        filters: { visitor_id },
        fetch: (keyset) =>
          db.org(page.org_id, (connection) => listVisitorConversations(connection, visitor_id, keyset)),
        idOf: ({ conversation_id }) => conversation_id,
        present,
      });
    },
  }),
  define({
    id: "getPageConversation",
    route: `GET ${PATH}/{conversation_id}`,
    summary: "Get a visitor's conversation",
    description: "Returns a conversation of this visitor.",
    params,
    success: { 200: { description: "The conversation.", schema: conversationSchema } },
    async handler({ params: { conversation_id }, ctx }, deps) {
      return { status: 200, body: present(await own(deps, ctx, conversation_id)) };
    },
  }),
  define({
    id: "changePageConversation",
    route: `PATCH ${PATH}/{conversation_id}`,
    summary: "Change a visitor's conversation",
    description: "Sets the title of a conversation of this visitor.",
    params,
    body: namedStrict("PageConversationChange", {
      title: visibleText(TITLE_CHARS).nullable().describe("`null` removes the title."),
    }),
    examples: { title: { title: "Where is my parcel?" } },
    success: { 200: { description: "The conversation.", schema: conversationSchema } },
    async handler({ params: { conversation_id }, body: { title }, ctx }, { db }) {
      const { page, visitor } = visitOf(ctx);
      const renamed = await db.org(page.org_id, (connection) =>
        renameVisitorConversation(connection, visitor.visitor_id, conversation_id, title),
      );
      return { status: 200, body: present(required(renamed, "conversation")) };
    },
  }),
  define({
    id: "deletePageConversation",
    route: `DELETE ${PATH}/{conversation_id}`,
    summary: "Delete a visitor's conversation",
    description:
      "Deletes a conversation of this visitor: its title, what models remember of it, and its documents. The visitor can no longer read its runs; the organisation keeps them until its retention or an erasure removes them.",
    params,
    success: { 204: { description: "Deleted." } },
    async handler({ params: { conversation_id }, ctx }, deps) {
      const { page } = visitOf(ctx);
      const { user_id } = await own(deps, ctx, conversation_id);
      const { org_id, project_id, page_id } = page;
      const audit = visitorAudit(deps.config, ctx, "deletePageConversation");
      await removeConversation(deps, { org_id, project_id, user_id }, audit, { type: "page", id: page_id });
    },
  }),
  define({
    id: "listPageMessages",
    route: `GET ${PATH}/{conversation_id}/messages`,
    summary: "List the messages of a visitor's conversation",
    description: "Lists the runs of a conversation of this visitor, oldest first unless `order=desc`.",
    params,
    query: listQuery.extend({
      page_size: z.int().min(1).max(50).default(MESSAGES).describe("Number of items per page."),
      order: z.enum(["asc", "desc"]).default("asc").describe("Sort order by creation time."),
    }),
    success: { 200: { description: "A page of runs.", schema: pageOf(pageRunSchema, "PageMessageList") } },
    async handler({ params: { conversation_id }, query, ctx }, deps) {
      const { db } = deps;
      const { page, visitor } = visitOf(ctx);
      const { user_id } = await own(deps, ctx, conversation_id);
      const { org_id, project_id } = page;
      const filter = { project_id, user_id, withoutChildren: true };
      const listed = await listPage("page-messages", org_id, query, {
        filters: { user_id },
        fetch: (keyset) => db.org(org_id, (connection) => listRuns(connection, org_id, filter, keyset)),
        idOf: ({ run_id }) => run_id,
        present: ({ run_id }) => run_id,
      });
      const rows = await db.org(org_id, async (connection) => {
        const found = [];
        // A run of the list may have been purged in the meantime.
        for (const run_id of listed.body.data)
          found.push(...[await getRun(connection, run_id)].flatMap((row) => row ?? []));
        return found;
      });
      return { status: 200, body: { ...listed.body, data: await viewPageRuns(deps, rows, { page, visitor }) } };
    },
  }),
];
