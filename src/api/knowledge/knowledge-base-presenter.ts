import { z } from "zod";
import { indexingParamsSchema, WEBSITE_SOURCE_TYPES } from "../../domain/knowledge/knowledge-base.ts";
import { SYNC_STATES } from "../../domain/knowledge/sync.ts";
import { dataloaderFields } from "../../domain/knowledge/document-metadata.ts";
import { BUILTIN_FIELDS, METADATA_TYPES, metadataSchemaSchema } from "../../domain/knowledge/metadata.ts";
import type { KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import { asDeclared } from "../http/as-declared.ts";

/** How much of a site a source may name. */
const MAX_SELECTED = 1000;
const MAX_ADDRESS = 2000;

const webAddress = z
  .url({ protocol: /^https?$/, error: "an address that begins with http:// or https:// is expected" })
  .max(MAX_ADDRESS)
  .refine((text) => !URL.canParse(text) || new URL(text).username === "", {
    error: "an address without a user and a password is expected",
  });

export const websiteSourceSchema = z
  .strictObject({
    source_type: z.enum(WEBSITE_SOURCE_TYPES),
    original_search_term: z
      .string()
      .max(MAX_ADDRESS)
      .default("")
      .describe("For `sitemap`: the site, or the address of its sitemap or sitemap index."),
    selected_resources: z
      .array(webAddress)
      .max(MAX_SELECTED)
      .default([])
      .describe(
        "For `manual`: the addresses of the pages. For `sitemap`: only pages whose address begins with one of these; all if there is none.",
      ),
  })
  .meta({ id: "WebsiteSource" });

export const knowledgeBaseSchema = z
  .object({
    knowledge_base_id: z.uuid(),
    name: z.string(),
    description: z.string(),
    connection_id: z.uuid().nullable(),
    connection_source_ids: z.array(z.string()),
    website_sources: z.array(websiteSourceSchema),
    indexing_params: indexingParamsSchema,
    is_empty: z.boolean().describe("Whether it has no resource."),
    total_size: z.int().describe("Bytes of its resources."),
    total_files: z.int(),
    total_indexed_files: z.int(),
    total_error_files: z.int(),
    last_synced_at: z.iso.datetime().nullable(),
    user_metadata_schema: metadataSchemaSchema,
    dataloader_metadata_schema: metadataSchemaSchema,
    sync: z
      .object({
        schedule_cron: z.string().nullable(),
        status: z.enum(["idle", ...SYNC_STATES]).describe("The state of its last sync; `idle` before the first."),
        last_sync_id: z.uuid().nullable(),
        last_error: z.string().nullable().describe("Why it is not synced by this schedule."),
      })
      .meta({ id: "KnowledgeBaseSyncSettings" }),
    reindex_required: z
      .boolean()
      .describe(
        "Whether indexing_params have changed since its resources were indexed: they are still found as they were.",
      ),
    org_id: z.uuid(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "KnowledgeBase" });

/** With what its schedule comes to. */
export const shownKnowledgeBaseSchema = knowledgeBaseSchema
  .extend({
    sync: knowledgeBaseSchema.shape.sync
      .extend({
        next_times: z
          .array(z.iso.datetime())
          .nullable()
          .describe(
            "When it is synced next, five times at most; null without a schedule, and where Temporal cannot tell.",
          ),
        warnings: z.array(z.string()).describe("Parts of the schedule that may not do what their author meant."),
      })
      .meta({ id: "KnowledgeBaseSyncOutlook" }),
  })
  .meta({ id: "KnowledgeBaseShown" });

export function presentKnowledgeBase(base: KnowledgeBaseRow): z.infer<typeof knowledgeBaseSchema> {
  return asDeclared(knowledgeBaseSchema, {
    ...base,
    is_empty: base.total_files === 0,
    sync: {
      schedule_cron: base.schedule_cron,
      status: base.sync_state ?? "idle",
      last_sync_id: base.last_sync_id,
      last_error: base.schedule_error,
    },
  });
}

export const metadataSchemasSchema = z
  .object({
    user_metadata_schema: metadataSchemaSchema,
    dataloader_metadata_schema: metadataSchemaSchema.describe(
      "Fields that are read from documents: the built-in ones and the ones that this knowledge base declares.",
    ),
    builtin: z
      .object({ properties: z.record(z.string(), z.object({ type: z.enum(METADATA_TYPES) })) })
      .describe("Fields that every resource has."),
  })
  .meta({ id: "MetadataSchemas" });

export function presentMetadataSchemas(
  base: Pick<KnowledgeBaseRow, "user_metadata_schema" | "dataloader_metadata_schema">,
): z.infer<typeof metadataSchemasSchema> {
  return {
    user_metadata_schema: base.user_metadata_schema,
    dataloader_metadata_schema: dataloaderFields(base.dataloader_metadata_schema),
    builtin: {
      properties: Object.fromEntries(Object.entries(BUILTIN_FIELDS).map(([name, type]) => [name, { type }])),
    },
  };
}
