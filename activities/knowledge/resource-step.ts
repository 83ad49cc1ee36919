import { Context } from "@temporalio/activity";
import { resourceEvent } from "../../src/domain/knowledge/ingest.ts";
import type { IngestStep, ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import { ResourceFailure } from "../../src/domain/knowledge/resource-failure.ts";
import type { ResourceStatus } from "../../src/domain/knowledge/knowledge-base.ts";
import { redactSecrets } from "../../src/platform/logging/redaction.ts";
import type { Database } from "../../src/stores/db.ts";
import { findForIngest, insertKnowledgeEvent } from "../../src/stores/knowledge/resource-ingest.ts";
import { markResourceError } from "../../src/stores/knowledge/resources.ts";
import type { ResourceRow } from "../../src/stores/knowledge/resources.ts";

const HEARTBEAT_MS = 1000;
/** After so many, a failure that may pass is the resource's state. */
const MAX_ATTEMPTS = 4;

/**
 * Takes one step of a resource's way into the index, with heartbeats. Nothing is done where the resource is gone or has been
 * replaced, or an earlier attempt got further. A ResourceFailure ends up in the resource's row, with its event; anything else is
 * thrown, for Temporal to try again, and so is a failure that may pass, up to MAX_ATTEMPTS times.
 */
export async function takeStep(
  db: Database,
  input: ResourceInput,
  from: readonly ResourceStatus[],
  work: (resource: ResourceRow, signal: AbortSignal) => Promise<IngestStep>,
): Promise<IngestStep> {
  const { org_id, resource_id, revision } = input;
  const context = Context.current();
  const resource = await db.org(org_id, (connection) => findForIngest(connection, resource_id));
  if (resource === null || resource.revision !== revision || resource.status === "error") return "stop";
  if (!from.includes(resource.status)) return "done";
  const heartbeat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work(resource, context.cancellationSignal);
  } catch (error) {
    if (!(error instanceof ResourceFailure) || (error.retryable && context.info.attempt < MAX_ATTEMPTS)) throw error;
    const reason = { code: error.code, message: redactSecrets(error.message) };
    await db.orgTransaction(org_id, async (connection) => {
      if (!(await markResourceError(connection, resource_id, revision, reason))) return;
      await insertKnowledgeEvent(connection, resourceEvent(resource, { type: "failed", error: reason }));
    });
    return "stop";
  } finally {
    clearInterval(heartbeat);
  }
}
