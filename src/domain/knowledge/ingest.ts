import { derivedId } from "../derived-id.ts";
import type { JsonObject } from "../json.ts";
import type { NewEvent } from "../webhooks/events.ts";

/** The input of the workflow that indexes a document. */
export interface ResourceInput {
  readonly org_id: string;
  readonly knowledge_base_id: string;
  readonly resource_id: string;
  /** A new revision is indexed by a new workflow. */
  readonly revision: number;
}

/** `stop` if there is no next step: the document was deleted or replaced, or could not be read. */
export type IngestStep = "done" | "stop";

export const DUPLICATE_RULES = ["skip", "replace", "error"] as const;
/** What happens to a document that already exists. */
export type DuplicateRule = (typeof DUPLICATE_RULES)[number];

/** The event for the end of a document's indexing: the same for the same revision, however often it is written. */
export function resourceEvent(
  resource: ResourceInput & { readonly resource_path: string; readonly external_id: string | null },
  outcome:
    | { readonly type: "indexed"; readonly chunk_count: number }
    | { readonly type: "failed"; readonly error: { readonly code: string; readonly message: string } },
): NewEvent & { readonly org_id: string } {
  const { org_id, knowledge_base_id, resource_id, resource_path, external_id, revision } = resource;
  const { type } = outcome;
  const event_id = derivedId(resource_id, `${type} ${revision}`);
  const same = { knowledge_base_id, resource_id, resource_path, external_id };
  const data: JsonObject =
    outcome.type === "indexed"
      ? { ...same, status: "indexed", chunk_count: outcome.chunk_count, error: null }
      : { ...same, status: "error", chunk_count: null, error: { ...outcome.error } };
  return { event_id, org_id, type: `knowledge_base.resource.${type}`, data };
}
