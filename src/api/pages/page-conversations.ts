import { z } from "zod";
import { required } from "../../domain/errors.ts";
import { TITLE_CHARS } from "../../domain/pages/page.ts";
import { removeConversation } from "../../services/pages/remove-conversation.ts";
import {
  findVisitorConversation,
  listVisitorConversations,
  renameVisitorConversation,
} from "../../stores/pages/visitor-conversations.ts";
import type { VisitorConversation } from "../../stores/pages/visitor-conversations.ts";
import { listRuns } from "../../stores/runs/run-lists.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { ApiDeps, ApiServices } from "../deps.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation } from "../http/operation.ts";
import type { Operation, RequestContext } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { visibleText } from "../http/text-fields.ts";
import { createAdmission, visitOf, visitorAudit } from "./admission.ts";
import { PAGE_PROBLEMS, pageToken } from "./page-params.ts";
import { pageRunSchema } from "./page-run-presenter.ts";
import { createPageRunViews } from "./page-run-views.ts";

const PATH = "/f/{token}/conversations";
const COMMON = { tag: "Pages", auth: "none", visitor: "required", audit: "run", problems: PAGE_PROBLEMS } as const;
const params = pageToken.extend({ conversation_id: pathId("conversation") });
/** Few, because each may have long outputs. */
const MESSAGES = 20;

const conversationSchema = z
  .object({
    conversation_id: z.uuid(),
    title: z.string().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "PageConversation" });

const present = ({ conversation_id, title, created_at, updated_at }: VisitorConversation) => ({
  conversation_id,
  title,
  created_at,
  updated_at,
});

/** `/f/{token}/conversations`: the conversations of one visitor of a page. */
export function createPageConversationOperations(deps: ApiDeps, services: ApiServices): Operation[] {
  const { config, db } = deps;
  const { visitors } = createAdmission(config, services.pages);
  const views = createPageRunViews(deps, services);

  /** A conversation of the visitor. Throws 404 for anyone else's. */
  async function own(ctx: RequestContext, conversationId: string): Promise<VisitorConversation> {
    const { page, visitor } = visitOf(ctx);
    const found = await db.org(page.org_id, (connection) =>
      findVisitorConversation(connection, visitor.visitor_id, conversationId),
    );
    return required(found, "conversation");
  }

  return [
    defineOperation({
      ...COMMON,
      id: "listPageConversations",
      method: "GET",
      path: PATH,
      summary: "List a visitor's conversations",
      description: "Lists the conversations of this visitor on this page, newest first.",
      admit: visitors,
      params: pageToken,
      query: listQuery,
      success: {
        200: { description: "A page of conversations.", schema: pageOf(conversationSchema, "PageConversationList") },
      },
      async handler({ query, ctx }) {
        const { page, visitor } = visitOf(ctx);
        const { visitor_id } = visitor;
        return listPage({
          list: "page-conversations",
          orgId: page.org_id,
          query,
          filters: { visitor_id },
          fetch: (keyset) =>
            db.org(page.org_id, (connection) => listVisitorConversations(connection, visitor_id, keyset)),
          idOf: ({ conversation_id }) => conversation_id,
          present,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getPageConversation",
      method: "GET",
      path: `${PATH}/{conversation_id}`,
      summary: "Get a visitor's conversation",
      description: "Returns a conversation of this visitor.",
      admit: visitors,
      params,
      success: { 200: { description: "The conversation.", schema: conversationSchema } },
      async handler({ params: { conversation_id }, ctx }) {
        return { status: 200, body: present(await own(ctx, conversation_id)) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changePageConversation",
      method: "PATCH",
      path: `${PATH}/{conversation_id}`,
      summary: "Change a visitor's conversation",
      description: "Sets the title of a conversation of this visitor.",
      admit: visitors,
      params,
      body: z
        .strictObject({ title: visibleText(TITLE_CHARS).nullable().describe("`null` removes the title.") })
        .meta({ id: "PageConversationChange" }),
      examples: { title: { title: "Where is my parcel?" } },
      success: { 200: { description: "The conversation.", schema: conversationSchema } },
      async handler({ params: { conversation_id }, body: { title }, ctx }) {
        const { page, visitor } = visitOf(ctx);
        const renamed = await db.org(page.org_id, (connection) =>
          renameVisitorConversation(connection, visitor.visitor_id, conversation_id, title),
        );
        return { status: 200, body: present(required(renamed, "conversation")) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deletePageConversation",
      method: "DELETE",
      path: `${PATH}/{conversation_id}`,
      summary: "Delete a visitor's conversation",
      description:
        "Deletes a conversation of this visitor: its title, what models remember of it, and its documents. The visitor can no longer read its runs; the organisation keeps them until its retention or an erasure removes them.",
      admit: visitors,
      params,
      success: { 204: { description: "Deleted." } },
      async handler({ params: { conversation_id }, ctx }) {
        const { page } = visitOf(ctx);
        const { user_id } = await own(ctx, conversation_id);
        const { org_id, project_id, page_id } = page;
        const audit = visitorAudit(config, ctx, "deletePageConversation");
        await removeConversation(deps, { org_id, project_id, user_id }, audit, { type: "page", id: page_id });
        return { status: 204 };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listPageMessages",
      method: "GET",
      path: `${PATH}/{conversation_id}/messages`,
      summary: "List the messages of a visitor's conversation",
      description: "Lists the runs of a conversation of this visitor, oldest first unless `order=desc`.",
      admit: visitors,
      params,
      query: listQuery.extend({
        page_size: z.int().min(1).max(50).default(MESSAGES).describe("Number of items per page."),
        order: z.enum(["asc", "desc"]).default("asc").describe("Sort order by creation time."),
      }),
      success: { 200: { description: "A page of runs.", schema: pageOf(pageRunSchema, "PageMessageList") } },
      async handler({ params: { conversation_id }, query, ctx }) {
        const { page, visitor } = visitOf(ctx);
        const { user_id } = await own(ctx, conversation_id);
        const { org_id, project_id } = page;
        const filter = { project_id, user_id, withoutChildren: true };
        const listed = await listPage({
          list: "page-messages",
          orgId: org_id,
          query,
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
        return { status: 200, body: { ...listed.body, data: await views.runs(rows, { page, visitor }) } };
      },
    }),
  ];
}
