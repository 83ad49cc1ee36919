import { z } from "zod";
import { required } from "../../domain/errors.ts";
import { SYNC_MODES, SYNC_OUTCOMES, SYNC_STATES } from "../../domain/knowledge/sync.ts";
import { requireKnowledgeBase } from "../../services/knowledge/knowledge-bases.ts";
import { cancelSync, requestSync } from "../../services/knowledge/sync.ts";
import type { Database } from "../../stores/db.ts";
import { listSyncItems } from "../../stores/knowledge/sync-items.ts";
import { findSync, listSyncErrors, listSyncs } from "../../stores/knowledge/syncs.ts";
import type { SyncRow } from "../../stores/knowledge/syncs.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, linksTo } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { presentSync, presentSyncItem, syncItemSchema, syncSchema } from "./sync-presenter.ts";

const BASE = "/v2/knowledge-bases/{knowledge_base_id}";
const ONE = `${BASE}/syncs/{sync_id}` as const;

const baseParams = z.object({ knowledge_base_id: pathId("knowledge base") });
const params = baseParams.extend({ sync_id: pathId("sync") });

const syncBody = z
  .strictObject({
    mode: z
      .enum(SYNC_MODES)
      .default("incremental")
      .describe(
        "`incremental` indexes new and changed documents and the ones that could not be indexed before; `full` reindexes all documents with the current settings; `dry_run` only reports what an incremental sync would do.",
      ),
    delete_missing: z
      .boolean()
      .default(true)
      .describe("Deletes the documents of pages that a source no longer lists. Uploads and texts are never deleted."),
  })
  .meta({ id: "KnowledgeBaseSyncRequest" });

const acceptedSchema = z
  .object({ message: z.string(), status: z.literal("accepted"), sync_id: z.uuid() })
  .meta({ id: "KnowledgeBaseSyncAccepted" });

const LINKS = linksTo("getKnowledgeBaseSync", ["sync_id"], ["knowledge_base_id"]);

function requireSync(db: Database, orgId: string, path: z.output<typeof params>): Promise<SyncRow> {
  return db.org(orgId, async (connection) => {
    await requireKnowledgeBase(connection, path.knowledge_base_id);
    return required(await findSync(connection, path.knowledge_base_id, path.sync_id), "sync");
  });
}

const define = operationsOf({ tag: "Knowledge bases", auth: "secret" });

/** `/v2/knowledge-bases/{knowledge_base_id}/sync` and `/syncs`: read the sources again. */
export const syncOperations = [
  define({
    id: "syncKnowledgeBase",
    route: `POST ${BASE}/sync`,
    summary: "Sync a knowledge base with its sources",
    description:
      "Reads the website and bucket sources and the documents added by URL again, and indexes what changed, in the background. Only one sync of a knowledge base runs at a time.",
    params: baseParams,
    body: syncBody.prefault({}),
    idempotent: true,
    problems: ["sync_in_progress"],
    examples: { changed: {}, everything: { mode: "full" }, tried: { mode: "dry_run" } },
    success: { 202: { description: "Sync accepted.", schema: acceptedSchema, links: LINKS } },
    async handler({ params: { knowledge_base_id }, body, principal: { org_id }, newId }, { db }) {
      const sync_id = newId();
      await requestSync(db, { org_id, knowledge_base_id, sync_id, ...body, trigger: "request" });
      return { status: 202, body: { message: "The sync will run.", status: "accepted", sync_id } };
    },
  }),
  define({
    id: "listKnowledgeBaseSyncs",
    route: `GET ${BASE}/syncs`,
    summary: "List a knowledge base's syncs",
    description: "Lists syncs, newest first, with the number of documents each has added, updated and deleted.",
    params: baseParams,
    query: listQuery.extend({ state: z.enum(SYNC_STATES).optional() }),
    success: { 200: { description: "A page of syncs.", schema: pageOf(syncSchema) } },
    async handler({ params: { knowledge_base_id }, query, principal: { org_id } }, { db, reads }) {
      await db.org(org_id, (connection) => requireKnowledgeBase(connection, knowledge_base_id));
      const { state = null } = query;
      return listPage("knowledge-base-syncs", org_id, query, {
        filters: { knowledge_base_id, state },
        fetch: (keyset) => reads.org(org_id, (connection) => listSyncs(connection, knowledge_base_id, state, keyset)),
        idOf: (sync) => sync.sync_id,
        present: (sync) => presentSync(sync),
      });
    },
  }),
  define({
    id: "getKnowledgeBaseSync",
    route: `GET ${ONE}`,
    summary: "Get a sync of a knowledge base",
    description: "Returns the sync. A sync runs in the background; poll until it reaches a final state.",
    params,
    success: { 200: { description: "The sync.", schema: syncSchema } },
    async handler({ params: path, principal: { org_id } }, { db }) {
      const sync = await requireSync(db, org_id, path);
      const errors = await db.org(org_id, (connection) => listSyncErrors(connection, sync.sync_id));
      return { status: 200, body: presentSync(sync, errors) };
    },
  }),
  define({
    id: "listKnowledgeBaseSyncItems",
    route: `GET ${ONE}/items`,
    summary: "List the documents of a sync",
    description: "Lists one item per document. Items of the last five syncs are kept.",
    params,
    query: listQuery.extend({ outcome: z.enum(SYNC_OUTCOMES).optional() }),
    success: { 200: { description: "A page of items.", schema: pageOf(syncItemSchema) } },
    async handler({ params: path, query, principal: { org_id } }, { db, reads }) {
      const { sync_id } = await requireSync(db, org_id, path);
      const { outcome = null } = query;
      return listPage("knowledge-base-sync-items", org_id, query, {
        filters: { sync_id, outcome },
        fetch: (keyset) => reads.org(org_id, (connection) => listSyncItems(connection, sync_id, outcome, keyset)),
        idOf: (item) => item.item_id,
        present: presentSyncItem,
      });
    },
  }),
  define({
    id: "cancelKnowledgeBaseSync",
    route: `POST ${ONE}/cancel`,
    summary: "Cancel a sync of a knowledge base",
    description:
      "Stops the sync within seconds. Documents already indexed are kept, and documents being indexed are finished.",
    params,
    idempotent: true,
    problems: ["sync_already_finished"],
    success: {
      200: { description: "The run was already cancelled.", schema: syncSchema },
      202: { description: "Cancellation requested.", schema: syncSchema, links: LINKS },
    },
    async handler({ params: path, principal: { org_id } }, { db }) {
      await requireSync(db, org_id, path);
      const sync = await cancelSync(db, org_id, path.knowledge_base_id, path.sync_id);
      return { status: sync.state === "cancelled" ? 200 : 202, body: presentSync(sync) };
    },
  }),
];
