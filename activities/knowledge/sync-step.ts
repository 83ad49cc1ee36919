import { Context } from "@temporalio/activity";
import { readBucketSource } from "../../src/domain/knowledge/bucket-source.ts";
import type { SyncInput, SyncStep } from "../../src/domain/knowledge/sync.ts";
import { periodically } from "../../src/platform/periodically.ts";
import { recordSyncEnd } from "../../src/services/knowledge/sync.ts";
import { createBucketSource, type CallBuckets } from "../../src/services/knowledge/sources/bucket.ts";
import { createSiteClient, type SiteClient, type SiteDeps } from "../../src/services/knowledge/sources/site-client.ts";
import type { KnowledgeSource } from "../../src/services/knowledge/sources/source.ts";
import { createWebsiteSource } from "../../src/services/knowledge/sources/website.ts";
import type { Parts } from "../../src/services/parts.ts";
import { bucketsOf, noted } from "../../src/services/providers/remote-buckets.ts";
import type { ConnectionResolver, ResolvedConnection } from "../../src/services/providers/resolve-connection.ts";
import { findKnowledgeBase, type KnowledgeBaseRow } from "../../src/stores/knowledge/knowledge-bases.ts";
import { findSyncToWorkOn, sourcesOfSync, type SyncWork } from "../../src/stores/knowledge/syncs.ts";
import { stopWith } from "../attempts.ts";

export interface SyncStepDeps extends SiteDeps, Parts<"db"> {
  readonly connections: ConnectionResolver;
}

/** How often a step checks whether it is still wanted (ms). */
const WATCH_MS = 1000;
/** Time after which a step hands the work back, so that no sync keeps a worker from others (ms). */
const STEP_MS = 60_000;

/** The context of a sync's step. */
export interface SyncContext {
  readonly sync: SyncWork;
  readonly base: KnowledgeBaseRow;
  /** In the order that the items' `source_no` refers to. */
  readonly sources: readonly KnowledgeSource[];
  readonly site: SiteClient;
  /** Aborts when the sync is cancelled, its knowledge base is deleted, or the worker stops. */
  readonly signal: AbortSignal;
  /** Whether it is time to hand the work back. */
  isLate(): boolean;
}

/** The signal's reason if the sync was cancelled or deleted. */
class NotWanted extends Error {}

/**
 * Does a step of a sync. Returns `stop` if the sync has finished or its knowledge base is deleted; records the end of a
 * cancelled sync. Errors are thrown for Temporal to retry.
 */
export async function takeSyncStep(
  { db, connections, ...site }: SyncStepDeps,
  input: SyncInput,
  work: (context: SyncContext) => Promise<SyncStep>,
): Promise<SyncStep> {
  const { org_id, knowledge_base_id, sync_id } = input;
  const context = Context.current();
  const find = (): Promise<SyncWork | null> => db.org(org_id, (connection) => findSyncToWorkOn(connection, sync_id));
  const sync = await find();
  const base = await db.org(org_id, (connection) => findKnowledgeBase(connection, knowledge_base_id));
  const given = await db.org(org_id, (connection) => sourcesOfSync(connection, sync_id));
  if (sync === null || base === null || given === null) return "stop";
  if (sync.cancel_requested_at !== null) return await cancelled();

  const stop = stopWith(context);
  const { signal } = stop;
  const watch = periodically(
    WATCH_MS,
    async () => {
      const present = await find();
      if (present === null || present.cancel_requested_at !== null) stop.abort(new NotWanted());
    },
    // A failed check is ignored, because the step itself fails if the database is unreachable.
    () => undefined,
  );
  const until = Date.now() + STEP_MS;
  const client = createSiteClient(site);
  const { website_sources, connection_id, connection_source_ids } = given;
  const callBuckets = bucketCaller(connections, site.guardedFetch, org_id, connection_id);
  // The order matters: a sync stores its sources' positions in this list.
  const sources = [
    ...website_sources.map((source) => createWebsiteSource(source, client)),
    ...connection_source_ids
      .flatMap((text) => readBucketSource(text) ?? [])
      .map((source) => createBucketSource(source, callBuckets, site.maxBytes)),
  ];
  try {
    return await work({ sync, base, sources, site: client, signal, isLate: () => Date.now() > until });
  } catch (error) {
    if (!(signal.reason instanceof NotWanted)) throw error;
    return (await find()) === null ? "stop" : await cancelled();
  } finally {
    await watch.close();
    stop.end();
  }

  async function cancelled(): Promise<SyncStep> {
    await db.orgTransaction(org_id, (connection) => recordSyncEnd(connection, input, "cancelled", null));
    return "stop";
  }
}

/** Decrypts the credential on first use, once per step. */
function bucketCaller(
  connections: ConnectionResolver,
  guardedFetch: SiteDeps["guardedFetch"],
  orgId: string,
  connectionId: string | null,
): CallBuckets {
  let resolved: Promise<ResolvedConnection> | undefined;
  return async (call) => {
    resolved ??= connections.resolve(orgId, connectionId ?? "");
    const connection = await resolved;
    return await noted(connection, call(bucketsOf({ guardedFetch }, connection)));
  };
}
