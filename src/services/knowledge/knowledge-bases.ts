import { invalid, notFound, required, ValidationProblem, type ValidationIssue } from "../../domain/errors.ts";
import {
  indexingParamsSchema,
  type IndexingParams,
  type IndexingParamsInput,
} from "../../domain/knowledge/knowledge-base.ts";
import {
  metadataSchemaSchema,
  convertMetadataValue,
  type MetadataSchema,
  type MetadataValue,
} from "../../domain/knowledge/metadata.ts";
import { patched, type Patch } from "../../domain/patch.ts";
import type { Database, Db } from "../../stores/db.ts";
import { insertIndex, listIndexes, retireActiveIndex } from "../../stores/knowledge/indexes.ts";
import {
  findKnowledgeBase,
  insertKnowledgeBase,
  lockKnowledgeBase,
  updateKnowledgeBase,
  type KnowledgeBaseChange,
  type KnowledgeBaseRow,
  type NewKnowledgeBase,
} from "../../stores/knowledge/knowledge-bases.ts";
import { changeChecked } from "../change.ts";
import { requireConnectionSources } from "./connection-sources.ts";
import type { Knowledge } from "./open-knowledge.ts";
import { recordCreated, type RowAudit } from "../audit/audit.ts";
import { pageWithFields, setMetadata } from "../../stores/knowledge/resource-metadata.ts";

const KNOWLEDGE_BASE = "knowledge base";
const PARAMS = ["body", "indexing_params"] as const;

/** The knowledge base with this ID. Throws 404. */
export async function requireKnowledgeBase(db: Db, knowledgeBaseId: string): Promise<KnowledgeBaseRow> {
  return required(await findKnowledgeBase(db, knowledgeBaseId), KNOWLEDGE_BASE);
}

/**
 * Creates a knowledge base with an empty index; omitted settings take their defaults. Throws 422 for settings that this
 * installation cannot use, and 404 if an earlier attempt of the same request created it and it was deleted since.
 */
export async function createKnowledgeBase(
  { database, knowledge }: { readonly database: Database; readonly knowledge: Knowledge },
  base: Omit<NewKnowledgeBase, "indexing_params">,
  settings: IndexingParamsInput,
  audited: RowAudit<KnowledgeBaseRow>,
): Promise<KnowledgeBaseRow> {
  const embedding_params = { embedding_model: await knowledge.defaultModel() };
  const params = withSettings(indexingParamsSchema.parse({ embedding_params }), settings);
  await requireUsable(knowledge, base.org_id, params, settings);
  return await database.orgTransaction(base.org_id, async (db) => {
    await requireConnectionSources(db, base);
    const created = await insertKnowledgeBase(db, { ...base, indexing_params: params });
    if (created) await beginIndex(db, base, params);
    const row = await requireKnowledgeBase(db, base.knowledge_base_id);
    if (created) await recordCreated(db, audited, row);
    return row;
  });
}

const METADATA_SCHEMAS = ["user_metadata_schema", "dataloader_metadata_schema"] as const;

/** The fields of a knowledge base that a request changes. */
type KnowledgeBasePatch = Omit<KnowledgeBaseChange, "indexing_params" | (typeof METADATA_SCHEMAS)[number]> & {
  readonly [Member in (typeof METADATA_SCHEMAS)[number]]?: Patch<MetadataSchema> | undefined;
};

/**
 * Changes the given settings of a knowledge base. Calls `check` with the locked knowledge base before it changes
 * anything. An empty one uses new indexing settings immediately; any other needs a full sync. Throws 404 and 422.
 */
export async function changeKnowledgeBase(
  { database, knowledge }: { readonly database: Database; readonly knowledge: Knowledge },
  orgId: string,
  knowledgeBaseId: string,
  given: KnowledgeBasePatch,
  settings: IndexingParamsInput | undefined,
  check: (base: KnowledgeBaseRow) => void,
  audited: RowAudit<KnowledgeBaseRow>,
): Promise<KnowledgeBaseRow> {
  return await changeChecked(database, orgId, {
    audited,
    async read(db, lock) {
      if (lock && !(await lockKnowledgeBase(db, knowledgeBaseId))) throw notFound(KNOWLEDGE_BASE);
      return requireKnowledgeBase(db, knowledgeBaseId);
    },
    requireMatch: check,
    revisionOf: ({ revision }) => revision,
    // Done outside the transaction, because asking a service whether the model exists may be slow.
    async prepare({ indexing_params: present }) {
      if (settings === undefined) return undefined;
      const params = withSettings(present, settings);
      await requireUsable(knowledge, orgId, params, settings);
      return params;
    },
    async write(db, found, params) {
      if (params === undefined && Object.values(given).every((member) => member === undefined)) return found;
      const { user_metadata_schema: _user, dataloader_metadata_schema: _loader, ...members } = given;
      const change = { ...members, ...schemasOf(found, given) };
      const { connection_id = found.connection_id, connection_source_ids = found.connection_source_ids } = change;
      if (change.connection_id !== undefined || change.connection_source_ids !== undefined)
        await requireConnectionSources(db, { connection_id, connection_source_ids });
      if (change.user_metadata_schema !== undefined)
        await retypeMetadata(db, knowledgeBaseId, found.user_metadata_schema, change.user_metadata_schema);
      const all = params === undefined ? change : { ...change, indexing_params: params };
      await updateKnowledgeBase(db, knowledgeBaseId, found.revision, all);
      return await withIndex(db, knowledgeBaseId);
    },
  });
}

/** The complete new metadata schemas that a request patches. Throws 422. */
function schemasOf(
  found: KnowledgeBaseRow,
  given: KnowledgeBasePatch,
): Partial<Record<(typeof METADATA_SCHEMAS)[number], MetadataSchema>> {
  const changed = METADATA_SCHEMAS.filter((member) => given[member] !== undefined);
  return Object.fromEntries(
    changed.map((member) => [member, patched(metadataSchemaSchema, member, found[member], given[member])]),
  );
}

/** Gives an empty knowledge base an index with its current settings. */
async function withIndex(db: Db, knowledgeBaseId: string): Promise<KnowledgeBaseRow> {
  const changed = await requireKnowledgeBase(db, knowledgeBaseId);
  if (!changed.reindex_required || changed.total_files > 0) return changed;
  const [active] = (await listIndexes(db, knowledgeBaseId)).filter((index) => index.state === "active");
  if (active !== undefined) await retireActiveIndex(db, active.index_no);
  await beginIndex(db, changed, changed.indexing_params);
  return requireKnowledgeBase(db, knowledgeBaseId);
}

async function beginIndex(
  db: Db,
  { org_id, knowledge_base_id }: Pick<KnowledgeBaseRow, "org_id" | "knowledge_base_id">,
  params: IndexingParams,
): Promise<void> {
  const { embedding_model } = params.embedding_params;
  await insertIndex(db, { org_id, knowledge_base_id, state: "active", params, embedding_model, dimensions: null });
}

/** Merges given settings into the current ones. Throws 422 if they contradict each other. */
function withSettings(present: IndexingParams, given: IndexingParamsInput): IndexingParams {
  const before = present.chunker_params;
  const { embedding_model = present.embedding_params.embedding_model } = given.embedding_params ?? {};
  const { chunk_size = before.chunk_size, chunker_type = before.chunker_type } = given.chunker_params ?? {};
  // If only the size is given and the current overlap does not fit it, the overlap is set to its default share of the size.
  const kept = before.chunk_overlap < chunk_size ? before.chunk_overlap : Math.floor(chunk_size / 3);
  const chunk_overlap = given.chunker_params?.chunk_overlap ?? kept;
  if (chunk_overlap >= chunk_size) {
    const msg = `chunk_overlap (${chunk_overlap}) must be smaller than chunk_size (${chunk_size})`;
    throw invalid([...PARAMS, "chunker_params", "chunk_overlap"], msg);
  }
  const chunker_params = { chunk_size, chunk_overlap, chunker_type };
  return { ocr: given.ocr ?? present.ocr, embedding_params: { embedding_model }, chunker_params };
}

/** Throws 422 for settings that this installation cannot use. */
async function requireUsable(
  knowledge: Knowledge,
  orgId: string,
  { ocr, embedding_params: { embedding_model } }: IndexingParams,
  given: IndexingParamsInput,
): Promise<void> {
  const ocrProblem = ocr ? knowledge.ocrProblem() : null;
  if (ocrProblem !== null) {
    throw invalid([...PARAMS, "ocr"], `${ocrProblem} Omit ocr, or set it to false.`, "ocr_not_configured");
  }
  if (embedding_model === null || given.embedding_params?.embedding_model === undefined) return;
  const found = await knowledge.deps.embedders.find(orgId, embedding_model);
  if ("no" in found) {
    const msg = `${found.no} To search by keywords only, set the model to null.`;
    throw invalid([...PARAMS, "embedding_params", "embedding_model"], msg, "embedding_not_configured");
  }
}

const PAGE = 500;

/**
 * Converts the stored values of fields whose type changes, because filters ignore values of another type. Deletes the
 * values of removed fields, because no other request can. Converts new fields too, since earlier releases kept the
 * values of removed fields. Throws 422 for a field with a value that cannot be converted; the caller's transaction then
 * changes nothing.
 */
async function retypeMetadata(
  db: Db,
  knowledgeBaseId: string,
  before: MetadataSchema,
  after: MetadataSchema,
): Promise<void> {
  const typeBefore = new Map(Object.entries(before.properties).map(([name, { type }]) => [name, type]));
  const types = new Map(
    Object.entries(after.properties).flatMap(([name, { type }]) =>
      typeBefore.get(name) === type ? [] : [[name, type] as const],
    ),
  );
  const removed = [...typeBefore.keys()].filter((name) => !Object.hasOwn(after.properties, name));
  const fields = [...types.keys(), ...removed];
  if (fields.length === 0) return;
  const issues = new Map<string, ValidationIssue>();
  let page;
  let last: string | null = null;
  do {
    page = await pageWithFields(db, knowledgeBaseId, fields, last, PAGE);
    last = page.at(-1)?.resource_id ?? null;
    const changed = page.map(({ resource_id, resource_path, user_metadata }) => {
      const kept = Object.entries(user_metadata).filter(([name]) => !removed.includes(name));
      const metadata: Record<string, MetadataValue> = Object.fromEntries(kept);
      for (const [name, type] of types) {
        const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
        if (value === undefined) continue;
        const converted = convertMetadataValue(type, value);
        if (converted !== null) metadata[name] = converted;
        else if (!issues.has(name)) {
          const shown = JSON.stringify(value).slice(0, 100);
          const msg = `${shown} of ${resource_path} cannot be converted to ${type}: change or delete such values first`;
          const loc = ["body", "user_metadata_schema", "properties", name, "type"];
          issues.set(name, { loc, msg, type: "wrong_type" });
        }
      }
      return { resource_id, user_metadata: metadata };
    });
    if (issues.size === 0) await setMetadata(db, changed);
  } while (page.length === PAGE);
  if (issues.size > 0) throw new ValidationProblem([...issues.values()]);
}
