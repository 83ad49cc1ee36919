import { createHash } from "node:crypto";
import { Problem, ValidationProblem, conflict, required } from "../../domain/errors.ts";
import { derivedId } from "../../domain/derived-id.ts";
import type { DuplicateRule } from "../../domain/knowledge/ingest.ts";
import type { ResourceStatus } from "../../domain/knowledge/knowledge-base.ts";
import { readMetadata } from "../../domain/knowledge/metadata.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { MAIL, detectMime } from "../../platform/parsing/mime.ts";
import type { Db } from "../../stores/db.ts";
import {
  findByExternalId,
  findSame,
  keepWithoutSource,
  lockResourceIdentity,
  updateMetadata,
} from "../../stores/knowledge/resource-ingest.ts";
import { holdMetadataSchema } from "../../stores/knowledge/resource-metadata.ts";
import { findResource, insertResource, replaceResource, type NewResource } from "../../stores/knowledge/resources.ts";
import { wantStarts } from "../../stores/starts/workflow-starts.ts";
import { storageOf } from "../accounts/quotas.ts";
import { discardBlob } from "../documents/discard-documents.ts";
import type { Parts } from "../parts.ts";

export type AddDeps = Parts<"db" | "blobs" | "logger" | "quotas">;

/** A resource to add, with its bytes already stored if they were uploaded, and the rule for duplicates. */
export interface ResourceToAdd {
  readonly resource: NewResource;
  /** Default: a resource with the same external ID is replaced, one with the same content (or URL) is kept. */
  readonly onDuplicate: DuplicateRule | undefined;
}

/** The outcome of adding one resource. */
export interface AddedResource {
  readonly resource_id: string;
  readonly status: ResourceStatus;
  readonly outcome: "added" | "replaced" | "unchanged";
}

interface Written extends AddedResource {
  /** Null if there is nothing to index. */
  readonly revision: number | null;
  /** A blob that no row refers to once the transaction is committed. */
  readonly orphan: string | null;
}

/** In these states, a repeated upsert of the same thing only updates the description. */
const SETTLED: readonly ResourceStatus[] = ["pending", "resource", "parsed", "indexed"];

/**
 * Adds resources to a knowledge base and starts to index them: all of them, or none if one is refused. Throws 409 for a
 * duplicate if the rule says so, and 422 if metadata no longer fits the schema. On any failure the caller removes the
 * blobs it has stored.
 */
export async function addResources(
  deps: AddDeps,
  orgId: string,
  toAdd: readonly ResourceToAdd[],
): Promise<AddedResource[]> {
  const countStored = await storageOf(deps.quotas, orgId);
  const written = await deps.db.orgTransaction(orgId, async (db) => {
    // Locked in sorted order, so that two requests never deadlock.
    const identities = new Set(toAdd.map(({ resource }) => resourceIdentity(resource)));
    const knowledgeBaseId = toAdd[0]?.resource.knowledge_base_id ?? "";
    for (const identity of [...identities].toSorted()) await lockResourceIdentity(db, knowledgeBaseId, identity);
    await requireFitting(db, knowledgeBaseId, toAdd);
    const results: Written[] = [];
    for (const each of toAdd) results.push(await write(db, each));
    const starts = results.flatMap(({ resource_id, revision }) =>
      revision === null ? [] : [{ org_id: orgId, knowledge_base_id: knowledgeBaseId, resource_id, revision }],
    );
    await wantStarts(db, "resource", starts);
    const added = toAdd.filter((_, index) => results[index]?.revision !== null);
    const bytes = added.reduce((sum, { resource }) => sum + resource.size, 0);
    await countStored(db, bytes);
    return results;
  });
  for (const { orphan } of written) if (orphan !== null) await discardBlob(deps, orphan);
  return written.map(({ resource_id, status, outcome }) => ({ resource_id, status, outcome }));
}

/** Stores a text as the content of a resource, with the type that its name implies. */
export async function storeText(
  blobs: BlobStore,
  orgId: string,
  { name, text }: { readonly name: string; readonly text: string },
): Promise<Pick<NewResource, "content_hash" | "content_mime" | "size" | "blob_key">> {
  const bytes = Buffer.from(text);
  const found = detectMime(name, "text/plain", bytes);
  // The name only decides how the text is parsed; content that was sent as text never has a binary type.
  const content_mime =
    found.startsWith("text/") || found === "application/json" || found === MAIL ? found : "text/plain";
  const { key, size, sha256 } = await blobs.put(orgId, bytes, { maxBytes: bytes.byteLength });
  return { content_hash: sha256, content_mime, size, blob_key: key };
}

/**
 * The resource IDs of one request, derived from its own ID, so that a retry yields the same ones. They ascend, because
 * lists are sorted by ID.
 */
export function idsOf(own: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    index === 0 ? own : derivedId(own, `resource ${index}`),
  ).toSorted();
}

/**
 * Checks metadata while it holds a lock that a schema change waits for; otherwise a value could be stored with a type
 * that no filter finds.
 */
async function requireFitting(db: Db, knowledgeBaseId: string, toAdd: readonly ResourceToAdd[]): Promise<void> {
  const schema = required(await holdMetadataSchema(db, knowledgeBaseId), "knowledge base");
  const issues = toAdd.flatMap(
    ({ resource }) => readMetadata(schema, resource.user_metadata, ["body", "user_metadata"]).issues,
  );
  if (issues.length > 0) throw new ValidationProblem(issues);
}

async function write(db: Db, { resource, onDuplicate }: ResourceToAdd): Promise<Written> {
  const { knowledge_base_id, resource_id, external_id, blob_key } = resource;
  const repeated = await findResource(db, knowledge_base_id, resource_id);
  const byName = external_id === null ? null : await findByExternalId(db, knowledge_base_id, external_id);
  const known =
    repeated?.resource_id ?? byName ?? (external_id === null ? await findSame(db, knowledge_base_id, resource) : null);
  const existing = known === null ? null : (repeated ?? (await findResource(db, knowledge_base_id, known)));
  if (existing === null) {
    if (!(await insertResource(db, resource)))
      throw conflict("This Idempotency-Key created a document that has been deleted.");
    return { resource_id, status: "pending", outcome: "added", revision: 0, orphan: null };
  }
  const isSame =
    existing.source === resource.source &&
    (resource.source === "url"
      ? existing.source_url === resource.source_url
      : existing.content_hash === resource.content_hash);
  const { resource_id: id, status } = existing;
  const unchanged: Written = { resource_id: id, status, outcome: "unchanged", revision: null, orphan: blob_key };
  if (repeated !== null) {
    if (isSame && existing.resource_path === resource.resource_path) return unchanged;
    const detail = "This Idempotency-Key was used with another document in the last 24 hours.";
    throw new Problem("idempotency_conflict", detail);
  }
  const rule = onDuplicate ?? (byName === null ? "skip" : "replace");
  if (rule === "error") {
    const what = byName === null ? "The same content" : "A document with this external_id";
    throw conflict(`${what} is already in the knowledge base, as resource ${id}.`);
  }
  if (existing.from_source) await keepWithoutSource(db, id);
  // A resource that could not be indexed is not a duplicate to skip: it is indexed again.
  if (rule === "skip" && status !== "error") return unchanged;
  const mayHaveChanged = resource.source === "url" || existing.content_mime !== resource.content_mime;
  if (isSame && !mayHaveChanged && SETTLED.includes(status)) {
    await updateMetadata(db, id, resource);
    return unchanged;
  }
  const revision = await replaceResource(db, id, resource);
  return { resource_id: id, status: "pending", outcome: "replaced", revision, orphan: existing.blob_key };
}

/** The identity of a resource in its knowledge base, which is locked while the resource is looked up and added. */
export function resourceIdentity({
  external_id,
  source_url,
  content_hash,
}: Partial<Pick<NewResource, "external_id" | "source_url" | "content_hash">>): string {
  if (external_id != null) return `external_id ${external_id}`;
  return createHash("sha256")
    .update(source_url ?? content_hash ?? "")
    .digest("hex");
}
