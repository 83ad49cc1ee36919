import { z } from "zod";
import { cronFault } from "../../domain/cron.ts";
import { indexingParamsInputSchema } from "../../domain/knowledge/knowledge-base.ts";
import { metadataSchemaSchema } from "../../domain/knowledge/metadata.ts";
import { knowledgeQuerySchema } from "../../domain/knowledge/query.ts";
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
import { listKnowledgeBases } from "../../stores/knowledge/knowledge-bases.ts";
import type { KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import type { ApiDeps } from "../deps.ts";
import { ETAG, asCreated, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import {
  knowledgeBaseSchema,
  metadataSchemasSchema,
  presentKnowledgeBase,
  presentMetadataSchemas,
  shownKnowledgeBaseSchema,
  websiteSourceSchema,
} from "./knowledge-base-presenter.ts";
import { knowledgeAnswerSchema } from "./query-presenter.ts";

const MAX_WEBSITE_SOURCES = 100;
const MAX_CONNECTION_SOURCES = 100;

const params = z.object({ knowledge_base_id: pathId("knowledge base") });
const name = z.string().trim().min(1).max(200);
const description = z.string().max(10_000);
const connectionId = z.uuid().nullable().describe("The connection of provider s3 that its files come from.");
const connectionSourceIds = z
  .array(z.string().min(1).max(1000))
  .max(MAX_CONNECTION_SOURCES)
  .describe("Where in its buckets, as bucket/prefix: every object whose name begins with the prefix.");
const websiteSource = websiteSourceSchema.superRefine(
  ({ source_type, original_search_term, selected_resources }, context) => {
    if (source_type === "sitemap" && siteAddress(original_search_term) === null) {
      const message = "the address of a site or of a sitemap is expected";
      context.addIssue({ code: "custom", path: ["original_search_term"], message });
    }
    if (source_type === "manual" && selected_resources.length === 0) {
      context.addIssue({
        code: "custom",
        path: ["selected_resources"],
        message: "the addresses of pages are expected",
      });
    }
  },
);
const websiteSources = z.array(websiteSource).max(MAX_WEBSITE_SOURCES);
const FIVE_FIELDS =
  'five fields are expected: minute, hour, day of the month, month, day of the week, as in "0 3 * * 1"';
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
      "When it is synced (incremental), as five fields of cron in UTC, e.g. `0 3 * * 1`; null for never. Where both the day of the month and the day of the week are given, both have to hold.",
    ),
});

const createBody = z
  .strictObject({
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
        "What to read from documents beside title, author, description, keywords, language, created and modified.",
      ),
  })
  .meta({ id: "KnowledgeBaseCreate" });
const changeBody = z
  .strictObject({
    name: name.optional(),
    description: description.optional(),
    connection_id: connectionId.optional(),
    connection_source_ids: connectionSourceIds.optional(),
    website_sources: websiteSources.optional(),
    sync: sync.optional(),
    indexing_params: indexingParamsInputSchema.optional().describe("Absent members stay as they are."),
    user_metadata_schema: metadataSchemaSchema.optional().describe("Takes the place of the present one."),
    dataloader_metadata_schema: metadataSchemaSchema.optional().describe("Takes the place of the present one."),
  })
  .meta({ id: "KnowledgeBaseChange" });

const COMMON = { tag: "Knowledge bases", auth: "secret" } as const;
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

/** `/v2/knowledge-bases`: sets of documents that are searched. */
export function createKnowledgeBaseOperations(deps: ApiDeps): Operation[] {
  const { db, reads, knowledge } = deps;
  const follow = (org_id: string, id: string): Promise<void> =>
    followSchedule(deps, syncSchedules(deps.config), { org_id, id });
  const toResponse = async (base: KnowledgeBaseRow) => {
    const { sync: schedule, ...shown } = presentKnowledgeBase(base);
    const outlook = await syncOutlook(deps, base);
    return tagged({ ...shown, sync: { ...schedule, ...outlook } }, revisionTag(base.revision));
  };

  return [
    defineOperation({
      ...COMMON,
      id: "createKnowledgeBase",
      method: "POST",
      path: "/v2/knowledge-bases",
      summary: "Create a knowledge base",
      description:
        "Without an embedding model it uses the local one if that is installed; else it is searched by keywords only.",
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
      success: {
        201: {
          description: "The knowledge base.",
          schema: shownKnowledgeBaseSchema,
          headers: { Location: "Its address.", ...ETAG },
          links: LINKS,
        },
      },
      async handler({
        body: {
          indexing_params,
          sync: { schedule_cron },
          ...members
        },
        principal: { org_id },
        newId,
        audit,
      }) {
        const knowledge_base_id = newId();
        const base = await createKnowledgeBase(
          { database: db, knowledge },
          { ...members, knowledge_base_id, org_id, schedule_cron },
          indexing_params,
          auditOf(audit, knowledge_base_id),
        );
        if (schedule_cron !== null) await follow(org_id, knowledge_base_id);
        return asCreated(await toResponse(base), `/v2/knowledge-bases/${knowledge_base_id}`);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "listKnowledgeBases",
      method: "GET",
      path: "/v2/knowledge-bases",
      summary: "List knowledge bases",
      description: "Newest first, with their counts of resources.",
      query: listQuery,
      success: {
        200: { description: "A page of knowledge bases.", schema: pageOf(knowledgeBaseSchema, "KnowledgeBasePage") },
      },
      async handler({ query, principal: { org_id } }) {
        return listPage({
          list: "knowledge-bases",
          orgId: org_id,
          query,
          fetch: (keyset) => reads.org(org_id, (connection) => listKnowledgeBases(connection, keyset)),
          idOf: (base) => base.knowledge_base_id,
          present: presentKnowledgeBase,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getKnowledgeBase",
      method: "GET",
      path: "/v2/knowledge-bases/{knowledge_base_id}",
      summary: "Get a knowledge base",
      description: "With its settings, counts, and where its last sync stands.",
      params,
      success: { 200: { description: "The knowledge base.", schema: shownKnowledgeBaseSchema, headers: ETAG } },
      async handler({ params: { knowledge_base_id }, principal: { org_id } }) {
        return toResponse(await db.org(org_id, (connection) => requireKnowledgeBase(connection, knowledge_base_id)));
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeKnowledgeBase",
      method: "PATCH",
      path: "/v2/knowledge-bases/{knowledge_base_id}",
      summary: "Change a knowledge base",
      description:
        "Another embedding model or chunker sets `reindex_required`: until its resources are indexed anew, they are found as they were. " +
        "One without resources takes the new settings at once.",
      params,
      headers: ifMatchHeaders,
      body: changeBody,
      examples: {
        rename: { name: "Handbook of 2026" },
        chunks: { indexing_params: { chunker_params: { chunk_size: 800, chunk_overlap: 100 } } },
        keywords: { indexing_params: { embedding_params: { embedding_model: null } } },
      },
      success: {
        200: { description: "The knowledge base as it is now.", schema: shownKnowledgeBaseSchema, headers: ETAG },
      },
      async handler({ params: { knowledge_base_id }, headers, body, principal: { org_id }, audit }) {
        const { indexing_params: settings, sync: schedule, ...members } = body;
        const change = { ...members, schedule_cron: schedule?.schedule_cron };
        const base = await changeKnowledgeBase(
          { database: db, knowledge },
          org_id,
          knowledge_base_id,
          change,
          settings,
          (found) => requireMatch(headers["if-match"], revisionTag(found.revision)),
          auditOf(audit, knowledge_base_id),
        );
        if (schedule !== undefined) await follow(org_id, knowledge_base_id);
        return toResponse(base);
      },
    }),
    defineOperation({
      ...COMMON,
      id: "deleteKnowledgeBase",
      method: "DELETE",
      path: "/v2/knowledge-bases/{knowledge_base_id}",
      summary: "Delete a knowledge base with all its resources",
      description:
        "A knowledge base that published flows search cannot be deleted: `used_by` lists their projects, a hundred at most.",
      params,
      problems: ["in_use"],
      success: { 204: { description: "It is gone: no query finds anything of it any more." } },
      async handler({ params: { knowledge_base_id }, principal: { org_id }, audit }) {
        await deleteKnowledgeBase({ database: db }, org_id, knowledge_base_id, auditOf(audit, knowledge_base_id));
        await follow(org_id, knowledge_base_id);
        return { status: 204 };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getMetadataSchemas",
      method: "GET",
      path: "/v2/knowledge-bases/{knowledge_base_id}/metadata-schemas",
      summary: "Get the fields that a filter may name",
      description: "Declared fields, fields that documents bring, and the fields of every resource.",
      params,
      success: { 200: { description: "The fields, by where they come from.", schema: metadataSchemasSchema } },
      async handler({ params: { knowledge_base_id }, principal: { org_id } }) {
        const base = await db.org(org_id, (connection) => requireKnowledgeBase(connection, knowledge_base_id));
        return { status: 200, body: presentMetadataSchemas(base) };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "queryKnowledgeBase",
      audit: "never",
      method: "POST",
      path: "/v2/knowledge-bases/{knowledge_base_id}/query",
      summary: "Search a knowledge base",
      description:
        "By meaning (`semantic`), by words (`keyword`, BM25) or by both (`hybrid`, with a score from 0 to 1). Without an embedding model " +
        "`semantic` is refused, and `hybrid` is keyword search, which `strategy_used` says.",
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
      success: { 200: { description: "What was found, best first.", schema: knowledgeAnswerSchema } },
      async handler({ params: { knowledge_base_id }, body, principal: { org_id } }) {
        const base = await db.org(org_id, (connection) => requireKnowledgeBase(connection, knowledge_base_id));
        return { status: 200, body: await queryKnowledgeBase(knowledge.deps, org_id, base, body) };
      },
    }),
  ];
}
