import { z } from "zod";
import { cronFault } from "../../domain/cron.ts";
import { indexingParamsInputSchema } from "../../domain/knowledge/knowledge-base.ts";
import { metadataSchemaSchema } from "../../domain/knowledge/metadata.ts";
import { patchOf } from "../../domain/patch.ts";
import { knowledgeAnswerSchema, knowledgeQuerySchema } from "../../domain/knowledge/query.ts";
import {
  changeKnowledgeBase,
  createKnowledgeBase,
  requireKnowledgeBase,
} from "../../services/knowledge/knowledge-bases.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { syncOutlook, syncSchedules } from "../../services/knowledge/schedule.ts";
import { followSchedule } from "../../services/schedules/apply.ts";
import { siteAddress } from "../../services/knowledge/sources/website.ts";
import { queryKnowledgeBase } from "../../services/knowledge/query.ts";
import { deleteKnowledgeBase } from "../../services/knowledge/remove.ts";
import { listKnowledgeBases, type KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import type { HandlerDeps } from "../deps.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import { namedStrict, pathId } from "../http/schemas.ts";
import {
  knowledgeBaseSchema,
  metadataSchemasSchema,
  presentKnowledgeBase,
  presentMetadataSchemas,
  shownKnowledgeBaseSchema,
  websiteSourceSchema,
} from "./knowledge-base-presenter.ts";

const MAX_WEBSITE_SOURCES = 100;
const MAX_CONNECTION_SOURCES = 100;

const params = z.object({ knowledge_base_id: pathId("knowledge base") });
const name = z.string().trim().min(1).max(200);
const description = z.string().max(10_000);
const connectionId = z.uuid().nullable().describe("The connection (provider `s3`) that its files come from.");
const connectionSourceIds = z
  .array(z.string().min(1).max(1000))
  .max(MAX_CONNECTION_SOURCES)
  .describe("Locations in its buckets as `bucket/prefix`: every object whose name starts with the prefix is read.");
const websiteSource = websiteSourceSchema.superRefine(
  ({ source_type, original_search_term, selected_resources }, context) => {
    if (source_type === "sitemap" && siteAddress(original_search_term) === null) {
      const message = "must be the URL of a site or sitemap";
      context.addIssue({ code: "custom", path: ["original_search_term"], message });
    }
    if (source_type === "manual" && selected_resources.length === 0) {
      context.addIssue({
        code: "custom",
        path: ["selected_resources"],
        message: "must be URLs of pages",
      });
    }
  },
);
const websiteSources = z.array(websiteSource).max(MAX_WEBSITE_SOURCES);
const FIVE_FIELDS =
  'must be five cron fields: minute, hour, day of the month, month, day of the week, such as "0 3 * * 1"';
const sync = z.strictObject({
  schedule_cron: z
    .string()
    .max(200)
    .superRefine((text, context) => {
      const message = text.trim().split(/\s+/).length === 5 ? cronFault(text) : FIVE_FIELDS;
      if (message !== null) context.addIssue({ code: "custom", message });
    })
    .nullable()
    .describe(
      "When to start an incremental sync: a five-field cron expression in UTC, such as `0 3 * * 1`; `null` for never. If both day of month and day of week are given, both must match.",
    ),
});

const createBody = namedStrict("KnowledgeBaseCreate", {
  name,
  description: description.default(""),
  connection_id: connectionId.default(null),
  connection_source_ids: connectionSourceIds.default([]),
  website_sources: websiteSources.default([]),
  sync: sync.default({ schedule_cron: null }),
  indexing_params: indexingParamsInputSchema.default({}),
  user_metadata_schema: metadataSchemaSchema.default({ properties: {} }),
  dataloader_metadata_schema: metadataSchemaSchema
    .default({ properties: {} })
    .describe(
      "Fields to read from documents in addition to title, author, description, keywords, language, created and modified.",
    ),
});
const changeBody = namedStrict("KnowledgeBaseChange", {
  name: name.optional(),
  description: description.optional(),
  connection_id: connectionId.optional(),
  connection_source_ids: connectionSourceIds.optional(),
  website_sources: websiteSources.optional(),
  sync: patchOf(sync).optional(),
  indexing_params: indexingParamsInputSchema.optional(),
  user_metadata_schema: patchOf(metadataSchemaSchema).optional(),
  dataloader_metadata_schema: patchOf(metadataSchemaSchema).optional(),
});

const LINKS = {
  get: linkTo("getKnowledgeBase", ["knowledge_base_id"]),
  change: linkTo("changeKnowledgeBase", ["knowledge_base_id"]),
  query: linkTo("queryKnowledgeBase", ["knowledge_base_id"]),
  sync: linkTo("syncKnowledgeBase", ["knowledge_base_id"]),
};
const SCHEMA_EXAMPLE = {
  properties: {
    department: { type: "string", description: "Who wrote it", options: ["support", "legal"] },
    year: { type: "number" },
  },
};

const auditOf = auditAs("knowledge_base", presentKnowledgeBase);

const follow = (deps: HandlerDeps, org_id: string, id: string): Promise<void> =>
  followSchedule(deps, syncSchedules(deps.config), { org_id, id });

async function toResponse(deps: HandlerDeps, base: KnowledgeBaseRow) {
  const { sync: schedule, ...shown } = presentKnowledgeBase(base);
  const outlook = await syncOutlook(deps, base);
  return tagged({ ...shown, sync: { ...schedule, ...outlook } }, revisionTag(base.revision));
}

const define = operationsOf({ tag: "Knowledge bases", auth: "secret" });

/** `/v2/knowledge-bases`: searchable collections of documents. */
export const knowledgeBaseOperations = [
  define({
    id: "createKnowledgeBase",
    route: "POST /v2/knowledge-bases",
    summary: "Create a knowledge base",
    description:
      "Creates a knowledge base. If `embedding_model` is omitted, the local model is used when installed; otherwise only keyword search is available.",
    body: createBody,
    idempotent: true,
    examples: {
      plain: { name: "Handbook" },
      described: {
        name: "Contracts",
        description: "What we have signed",
        indexing_params: { chunker_params: { chunk_size: 1000, chunk_overlap: 200, chunker_type: "sentence" } },
        user_metadata_schema: SCHEMA_EXAMPLE,
      },
      bucket: {
        name: "Files",
        connection_id: "0197f0a0-0000-7000-8000-000000000000",
        connection_source_ids: ["documents/handbook/"],
      },
      website: {
        name: "Documentation",
        website_sources: [{ source_type: "sitemap", original_search_term: "https://example.com/" }],
        sync: { schedule_cron: "0 3 * * *" },
      },
    },
    success: { 201: created("The knowledge base.", shownKnowledgeBaseSchema, LINKS, ETAG) },
    async handler({ body, principal: { org_id }, newId, audit }, deps) {
      const { indexing_params, sync, ...members } = body;
      const { schedule_cron } = sync;
      const knowledge_base_id = newId();
      const base = await createKnowledgeBase(
        { database: deps.db, knowledge: deps.knowledge },
        { ...members, knowledge_base_id, org_id, schedule_cron },
        indexing_params,
        auditOf(audit, knowledge_base_id),
      );
      if (schedule_cron !== null) await follow(deps, org_id, knowledge_base_id);
      return asCreated(await toResponse(deps, base), `/v2/knowledge-bases/${knowledge_base_id}`);
    },
  }),
  define({
    id: "listKnowledgeBases",
    route: "GET /v2/knowledge-bases",
    summary: "List knowledge bases",
    description: "Lists knowledge bases, newest first. Each item includes the number of its documents.",
    query: listQuery,
    success: { 200: { description: "A page of knowledge bases.", schema: pageOf(knowledgeBaseSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      return listPage("knowledge-bases", org_id, query, {
        fetch: (keyset) => reads.org(org_id, (connection) => listKnowledgeBases(connection, keyset)),
        idOf: (base) => base.knowledge_base_id,
        present: presentKnowledgeBase,
      });
    },
  }),
  define({
    id: "getKnowledgeBase",
    route: "GET /v2/knowledge-bases/{knowledge_base_id}",
    summary: "Get a knowledge base",
    description: "Returns the knowledge base with its settings, counts and the status of its last sync.",
    params,
    success: { 200: { description: "The knowledge base.", schema: shownKnowledgeBaseSchema, headers: ETAG } },
    async handler({ params: { knowledge_base_id }, principal: { org_id } }, deps) {
      const base = await deps.db.org(org_id, (connection) => requireKnowledgeBase(connection, knowledge_base_id));
      return toResponse(deps, base);
    },
  }),
  define({
    id: "changeKnowledgeBase",
    route: "PATCH /v2/knowledge-bases/{knowledge_base_id}",
    summary: "Change a knowledge base",
    description:
      "Changes a knowledge base; omitted fields keep their values. Changing the embedding model or chunker sets `reindex_required`. Until a full sync reindexes the documents, search uses the old index. An empty knowledge base applies new settings immediately.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      rename: { name: "Handbook of 2026" },
      chunks: { indexing_params: { chunker_params: { chunk_size: 800, chunk_overlap: 100 } } },
      keywords: { indexing_params: { embedding_params: { embedding_model: null } } },
    },
    success: { 200: { description: "The updated knowledge base.", schema: shownKnowledgeBaseSchema, headers: ETAG } },
    async handler({ params: { knowledge_base_id }, headers, body, principal: { org_id }, audit }, deps) {
      const { indexing_params: settings, sync: schedule, ...members } = body;
      const change = { ...members, schedule_cron: schedule?.schedule_cron };
      const base = await changeKnowledgeBase(
        { database: deps.db, knowledge: deps.knowledge },
        org_id,
        knowledge_base_id,
        change,
        settings,
        matchesRevision(headers),
        auditOf(audit, knowledge_base_id),
      );
      if (schedule !== undefined) await follow(deps, org_id, knowledge_base_id);
      return toResponse(deps, base);
    },
  }),
  define({
    id: "deleteKnowledgeBase",
    route: "DELETE /v2/knowledge-bases/{knowledge_base_id}",
    summary: "Delete a knowledge base",
    description:
      "Deletes a knowledge base with all its documents. Returns 409 `in_use` if published flows search it; `used_by` lists up to 100 of their projects.",
    params,
    problems: ["in_use"],
    success: { 204: { description: "Deleted. No later query finds anything in it." } },
    async handler({ params: { knowledge_base_id }, principal: { org_id }, audit }, deps) {
      await deleteKnowledgeBase({ database: deps.db }, org_id, knowledge_base_id, auditOf(audit, knowledge_base_id));
      await follow(deps, org_id, knowledge_base_id);
    },
  }),
  define({
    id: "getMetadataSchemas",
    route: "GET /v2/knowledge-bases/{knowledge_base_id}/metadata-schemas",
    summary: "List filterable metadata fields",
    description:
      "Returns the fields that a query filter can use: declared fields, fields read from documents, and fields that every document has.",
    params,
    success: { 200: { description: "The fields, grouped by origin.", schema: metadataSchemasSchema } },
    async handler({ params: { knowledge_base_id }, principal: { org_id } }, { db }) {
      const base = await db.org(org_id, (connection) => requireKnowledgeBase(connection, knowledge_base_id));
      return { status: 200, body: presentMetadataSchemas(base) };
    },
  }),
  define({
    id: "queryKnowledgeBase",
    audit: "never",
    route: "POST /v2/knowledge-bases/{knowledge_base_id}/query",
    summary: "Search a knowledge base",
    description:
      "Searches by meaning (`semantic`), by words (`keyword`, BM25) or by both (`hybrid`, with a score between 0 and 1). Without an embedding model, `semantic` is rejected and `hybrid` uses keyword search; `strategy_used` returns the strategy used.",
    role: "viewer",
    params,
    body: knowledgeQuerySchema.meta({ id: "KnowledgeQuery" }),
    examples: {
      question: { query: "How long do refunds take?" },
      words: { query: '"annual leave" -unpaid carr*', query_strategy: "keyword", top_k: 5, neighbors: 1 },
      filtered: {
        query: "notice period",
        filter: { and: [{ field: "content_mime", op: "eq", value: "application/pdf" }] },
        max_chunks_per_resource: 2,
      },
    },
    problems: ["upstream_failed"],
    success: { 200: { description: "The results, best first.", schema: knowledgeAnswerSchema } },
    async handler({ params: { knowledge_base_id }, body, principal: { org_id } }, { db, knowledge }) {
      const base = await db.org(org_id, (connection) => requireKnowledgeBase(connection, knowledge_base_id));
      return { status: 200, body: await queryKnowledgeBase(knowledge.deps, org_id, base, body) };
    },
  }),
];
