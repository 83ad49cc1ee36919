import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { ResourceFailure } from "../../src/domain/knowledge/resource-failure.ts";
import type { SyncError, SyncInput, SyncOutcome, SyncStep } from "../../src/domain/knowledge/sync.ts";
import { eachAtOnce } from "../../src/platform/at-once.ts";
import { redactSecrets } from "../../src/platform/logging/redaction.ts";
import type { FetchedPage, PageAnswer } from "../../src/services/knowledge/fetch-page.ts";
import { deleteResource } from "../../src/services/knowledge/remove.ts";
import { resourceIdentity } from "../../src/services/knowledge/ingest.ts";
import type { Parts } from "../../src/services/parts.ts";
import type { Db } from "../../src/stores/db.ts";
import { holdKnowledgeBases } from "../../src/stores/knowledge/knowledge-bases.ts";
import {
  findByAddress,
  lockResourceIdentity,
  noteVersion,
  restartResource,
  storeContent,
} from "../../src/stores/knowledge/resource-ingest.ts";
import {
  findResource,
  insertResource,
  markResource,
  type NewResource,
  type ResourceRow,
} from "../../src/stores/knowledge/resources.ts";
import {
  listOpenItems,
  lockOpenItem,
  markItem,
  markItemIndexing,
  planDelete,
  settleItems,
  type SyncItemRow,
} from "../../src/stores/knowledge/sync-items.ts";
import { countItems } from "../../src/stores/knowledge/syncs.ts";
import { wantStarts } from "../../src/stores/starts/workflow-starts.ts";
import { takeSyncStep, type SyncContext, type SyncStepDeps } from "./sync-step.ts";

export type ReadSyncDeps = SyncStepDeps & Parts<"blobs">;

/** Documents of one sync that are indexed concurrently. */
const WINDOW = 50;
/** Documents that are read concurrently. */
const LANES = 4;
const BATCH = 20;
const POLL_MS = 250;

/**
 * Reads the documents that a sync has listed, at most WINDOW ahead of the indexing, and records the outcome of each.
 */
export function createReadSync(deps: ReadSyncDeps) {
  const { db, blobs, maxBytes } = deps;
  return async function readSync(input: SyncInput): Promise<SyncStep> {
    const { org_id, sync_id } = input;
    return await takeSyncStep(deps, input, async (context) => {
      for (;;) {
        context.signal.throwIfAborted();
        const { open, inFlight } = await db.org(org_id, async (connection) => {
          await settleItems(connection, sync_id);
          return await countItems(connection, sync_id);
        });
        if (open + inFlight === 0) return "done";
        if (context.isLate()) return "more";
        const room = Math.min(BATCH, WINDOW - inFlight);
        if (open === 0 || room <= 0) {
          await delay(POLL_MS, undefined, { signal: context.signal });
          continue;
        }
        const items = await db.org(org_id, (connection) => listOpenItems(connection, sync_id, room));
        // Failures are thrown after every item was tried, so that none blocks another item.
        const failures: unknown[] = [];
        await eachAtOnce(items, LANES, (item) => take(context, item).catch((error: unknown) => failures.push(error)));
        if (failures.length > 0) throw failures[0];
      }
    });
  };

  async function take(context: SyncContext, item: SyncItemRow): Promise<void> {
    context.signal.throwIfAborted();
    const { org_id, knowledge_base_id, mode } = context.sync;
    if (item.action === "delete") {
      if (mode !== "dry_run") {
        await deleteResource({ database: db, blobs }, org_id, knowledge_base_id, item.resource_id ?? "");
      }
      return await end(context, item, "deleted");
    }
    const resource = await db.org(org_id, (connection) => find(connection, knowledge_base_id, item));
    if (item.resource_id !== null && resource === null) return await end(context, item, "deleted");
    if (item.action === "read") return await read(context, item, resource);
    if (mode === "dry_run") return await end(context, item, "updated", { resource });
    if (resource !== null) await indexAgain(context, item, resource, null);
  }

  /** An item's resource. Several resources may share a URL, so an item that no source lists names its resource by ID. */
  function find(connection: Db, knowledgeBaseId: string, { resource_id, address }: SyncItemRow) {
    return resource_id === null
      ? findByAddress(connection, knowledgeBaseId, address)
      : findResource(connection, knowledgeBaseId, resource_id);
  }

  async function read(context: SyncContext, item: SyncItemRow, resource: ResourceRow | null): Promise<void> {
    const { sync, signal } = context;
    const { mode, org_id } = sync;
    // The resource is already being indexed, so the outcome of that ingest is the outcome of the item.
    if (resource !== null && ["pending", "resource", "parsed"].includes(resource.status)) {
      return await (mode === "dry_run"
        ? end(context, item, "unchanged", { resource })
        : follow(org_id, item, resource));
    }
    const isPresent = resource?.status === "indexed";
    const isComparable = isPresent && mode !== "full";
    let page: PageAnswer;
    try {
      page = await readFrom(context, item, isComparable ? resource : null);
    } catch (error) {
      // An abort must not be recorded as the document's failure.
      signal.throwIfAborted();
      if (!(error instanceof ResourceFailure)) throw error;
      return await fail(context, item, resource, error);
    }
    if (page.outcome === "missing") {
      if (resource?.from_source !== true || !sync.delete_missing)
        return await fail(context, item, resource, page.error);
      const { resource_id } = resource;
      if (mode === "dry_run") return await end(context, item, "deleted", { resource });
      // Recorded first, so that a retry knows the resource is to be deleted.
      await db.org(org_id, (connection) => planDelete(connection, item.item_id, resource_id));
      return await take(context, { ...item, action: "delete", resource_id });
    }
    const isSame = page.outcome === "not_modified" || (isPresent && page.content_hash === resource.content_hash);
    if (isComparable && isSame) {
      if (page.outcome === "fetched" && mode !== "dry_run") {
        await db.org(org_id, (connection) => noteVersion(connection, resource.resource_id, page));
      }
      return await end(context, item, "unchanged", { resource });
    }
    if (mode === "dry_run") return await end(context, item, resource === null ? "added" : "updated", { resource });
    if (isSame && resource !== null) return await indexAgain(context, item, resource, null);
    if (page.outcome === "fetched") await store(context, item, page);
  }

  function readFrom(
    { sources, site, signal }: SyncContext,
    item: SyncItemRow,
    known: ResourceRow | null,
  ): Promise<PageAnswer> {
    const source = item.source_no === null ? undefined : sources[item.source_no];
    if (source !== undefined) return source.read(item.address, known, signal);
    // A person added this single URL, so robots.txt is ignored.
    return site.page(item.address, { known, respectful: false, signal });
  }

  /** A document that cannot be read now keeps its stored content; a full sync indexes that again. */
  async function fail(
    context: SyncContext,
    item: SyncItemRow,
    resource: ResourceRow | null,
    failure: ResourceFailure,
  ): Promise<void> {
    const error = { code: failure.code, message: redactSecrets(failure.message) };
    if (context.sync.mode === "full" && resource?.status === "indexed" && resource.blob_key !== null) {
      return await indexAgain(context, item, resource, error);
    }
    await end(context, item, "failed", { resource, error });
  }

  /** Stores the read bytes as a resource's content, and has it indexed. */
  async function store(context: SyncContext, item: SyncItemRow, page: FetchedPage): Promise<void> {
    const { org_id, knowledge_base_id } = context.sync;
    const { key, size } = await blobs.put(org_id, page.body, { maxBytes });
    const content = { ...page, size, blob_key: key };
    const stored = await begin(context, item, async (connection) => {
      await lockResourceIdentity(connection, knowledge_base_id, resourceIdentity({ source_url: item.address }));
      const before = await find(connection, knowledge_base_id, item);
      // The resource was deleted meanwhile, or its content was replaced.
      if (item.resource_id !== null && before?.source_url !== item.address) return null;
      const resource_id = before?.resource_id ?? uuidv7();
      const added: NewResource = {
        resource_id,
        org_id,
        knowledge_base_id,
        resource_path: item.address,
        source: "url",
        source_url: item.address,
        external_id: null,
        content_hash: null,
        content_mime: null,
        size: 0,
        blob_key: null,
        user_metadata: {},
        from_source: true,
      };
      if (before === null) await insertResource(connection, added);
      const revision = before === null ? 0 : await restartResource(connection, resource_id);
      if (revision === null || !(await storeContent(connection, resource_id, revision, content))) return null;
      const becomes = before === null ? ("added" as const) : ("updated" as const);
      return { resource_id, revision, becomes, error: null, unused: before?.blob_key ?? null };
    });
    const unused = stored === null ? key : stored.unused;
    if (unused !== null) await blobs.delete(unused);
  }

  /** Has a resource indexed again from the stored bytes. */
  async function indexAgain(
    context: SyncContext,
    item: SyncItemRow,
    { resource_id, blob_key }: ResourceRow,
    error: SyncError | null,
  ): Promise<void> {
    await begin(context, item, async (connection) => {
      const revision = await restartResource(connection, resource_id);
      if (revision === null) return null;
      if (blob_key !== null) await markResource(connection, resource_id, revision, { status: "resource" });
      return { resource_id, revision, becomes: error === null ? "updated" : "failed", error };
    });
  }

  /** Starts a revision for an item, once: item and resource change together. Null if there is nothing to start. */
  async function begin<
    Started extends {
      resource_id: string;
      revision: number;
      becomes: Exclude<SyncOutcome, "deleted">;
      error: SyncError | null;
    },
  >(
    context: SyncContext,
    item: SyncItemRow,
    work: (connection: Db) => Promise<Started | null>,
  ): Promise<Started | null> {
    const { org_id, knowledge_base_id } = context.sync;
    return await db.orgTransaction(org_id, async (connection) => {
      // Adds nothing to a deleted knowledge base, and nothing twice if two attempts of a step overlap.
      if ((await holdKnowledgeBases(connection, [knowledge_base_id])).length === 0) return null;
      if (!(await lockOpenItem(connection, item.item_id))) return null;
      const made = await work(connection);
      if (made === null) {
        await markItem(connection, item.item_id, "deleted");
        return null;
      }
      const { resource_id, revision } = made;
      await markItemIndexing(connection, item.item_id, made);
      await wantStarts(connection, "resource", [{ org_id, knowledge_base_id, resource_id, revision }]);
      return made;
    });
  }

  function follow(orgId: string, item: SyncItemRow, { resource_id, revision }: ResourceRow): Promise<void> {
    const indexing = { resource_id, revision, becomes: "unchanged", error: null } as const;
    return db.org(orgId, (connection) => markItemIndexing(connection, item.item_id, indexing));
  }

  function end(
    { sync }: SyncContext,
    item: SyncItemRow,
    outcome: SyncOutcome,
    { resource = null, error = null }: { resource?: ResourceRow | null; error?: SyncError | null } = {},
  ): Promise<void> {
    const resource_id = resource?.resource_id ?? null;
    return db.org(sync.org_id, (connection) => markItem(connection, item.item_id, outcome, { resource_id, error }));
  }
}
