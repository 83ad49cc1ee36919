import { z } from "zod";
import { required } from "../../domain/errors.ts";
import { SYNC_MODES, SYNC_OUTCOMES, SYNC_STATES } from "../../domain/knowledge/sync.ts";
import { requireKnowledgeBase } from "../../services/knowledge/knowledge-bases.ts";
import { cancelSync, requestSync } from "../../services/knowledge/sync.ts";
import type { Database } from "../../stores/db.ts";
import { listSyncItems, type SyncItemRow } from "../../stores/knowledge/sync-items.ts";
import { findSync, listSyncErrors, listSyncs, type SyncRow, type SyncItemError } from "../../stores/knowledge/syncs.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { operationsOf, linksTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";

const reason = z.object({ code: z.string(), message: z.string() });

const syncSchema = named("KnowledgeBaseSync", {
  sync_id: z.uuid(),
  knowledge_base_id: z.uuid(),
  mode: z.enum(SYNC_MODES),
  delete_missing: z.boolean(),
  trigger: z.enum(["request", "schedule"]),
  state: z.enum(SYNC_STATES),
  cancel_requested: z.boolean(),
  total: z.int().describe("Number of documents to check, as far as they have been listed."),
  counts: z
    .object({
      added: z.int(),
      updated: z.int(),
      deleted: z.int(),
      unchanged: z.int(),
      failed: z.int(),
    })
    .describe("Number of documents by outcome. In a dry run, the expected outcomes."),
  error: reason.nullable().describe("Why the whole sync failed."),
  errors: z
    .array(reason.extend({ address: z.string(), resource_id: z.uuid().nullable() }))
    .optional()
    .describe("Only when you get one sync: the first 100 documents that failed. `.../items?outcome=failed` lists all."),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});

/** Shows a sync as an item of a list, without errors. */
export function presentSync(sync: SyncRow, errors?: readonly SyncItemError[]): z.infer<typeof syncSchema> {
  const cancel_requested = sync.cancel_requested_at !== null;
  return asDeclared(syncSchema, { ...sync, cancel_requested, counts: sync, ...(errors && { errors }) });
}

const syncItemSchema = named("KnowledgeBaseSyncItem", {
  item_id: z.uuid(),
  address: z.string().describe("URL of the document or, for an upload or a text, its `resource_path`."),
  resource_id: z.uuid().nullable(),
  outcome: z.enum(SYNC_OUTCOMES).nullable().describe("What the sync did with the document; `null` until it is known."),
  error: reason.nullable(),
});

const presentSyncItem = (item: SyncItemRow) => asDeclared(syncItemSchema, item);

const BASE = "/v2/knowledge-bases/{knowledge_base_id}";
const ONE = `${BASE}/syncs/{sync_id}` as const;

const baseParams = z.object({ knowledge_base_id: pathId("knowledge base") });
const params = baseParams.extend({ sync_id: pathId("sync") });

const syncBody = namedStrict("KnowledgeBaseSyncRequest", {
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
});

const acceptedSchema = named("KnowledgeBaseSyncAccepted", {
  message: z.string(),
  status: z.literal("accepted"),
  sync_id: z.uuid(),
});

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
