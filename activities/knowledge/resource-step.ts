import { Context } from "@temporalio/activity";
import { resourceEvent, type IngestStep, type ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import { ResourceFailure } from "../../src/domain/knowledge/resource-failure.ts";
import type { ResourceStatus } from "../../src/domain/knowledge/knowledge-base.ts";
import { redactSecrets } from "../../src/platform/logging/redaction.ts";
import type { Database } from "../../src/stores/db.ts";
import { findForIngest } from "../../src/stores/knowledge/resource-ingest.ts";
import { insertEvent } from "../../src/stores/outbox.ts";
import { markResourceError, type ResourceRow } from "../../src/stores/knowledge/resources.ts";
import { attemptOf } from "../attempts.ts";

/** Attempts after which a transient failure becomes the resource's state. */
const MAX_ATTEMPTS = 4;

/**
 * Does one step of indexing a resource. Does nothing if the resource was deleted or replaced, or an earlier attempt got
 * further. A ResourceFailure is recorded in the resource's row, with its event. Any other error is thrown for Temporal
 * to retry; so is a transient failure, up to MAX_ATTEMPTS times.
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
  try {
    return await work(resource, context.cancellationSignal);
  } catch (error) {
    if (!(error instanceof ResourceFailure) || (error.retryable && attemptOf(context) < MAX_ATTEMPTS)) throw error;
    await failResource(db, input, { code: error.code, message: redactSecrets(error.message) });
    return "stop";
  }
}

/** Records in a resource's row why it cannot be indexed, with the event. */
export async function failResource(
  db: Database,
  { org_id, resource_id, revision }: ResourceInput,
  error: { readonly code: string; readonly message: string },
): Promise<void> {
  await db.orgTransaction(org_id, async (connection) => {
    const resource = await findForIngest(connection, resource_id);
    if (resource === null || !(await markResourceError(connection, resource_id, revision, error))) return;
    await insertEvent(connection, resourceEvent(resource, { type: "failed", error }));
  });
}
