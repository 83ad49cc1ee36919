import { z } from "zod";
import { indexingParamsSchema, WEBSITE_SOURCE_TYPES } from "../../domain/knowledge/knowledge-base.ts";
import { SYNC_STATES } from "../../domain/knowledge/sync.ts";
import { dataloaderFields } from "../../domain/knowledge/document-metadata.ts";
import { BUILTIN_FIELDS, METADATA_TYPES, metadataSchemaSchema } from "../../domain/knowledge/metadata.ts";
import type { KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import { asDeclared, named, namedStrict } from "../http/schemas.ts";

/** Limits of the part of a website that a source may name. */
const MAX_SELECTED = 1000;
const MAX_ADDRESS = 2000;

const webAddress = z
  .url({ protocol: /^https?$/, error: "must be a URL that begins with http:// or https://" })
  .max(MAX_ADDRESS)
  .refine((text) => !URL.canParse(text) || new URL(text).username === "", {
    error: "must be a URL without user name and password",
  });

export const websiteSourceSchema = namedStrict("WebsiteSource", {
  source_type: z.enum(WEBSITE_SOURCE_TYPES),
  original_search_term: z
    .string()
    .max(MAX_ADDRESS)
    .default("")
    .describe("For `sitemap`: URL of the site, of its sitemap or of its sitemap index."),
  selected_resources: z
    .array(webAddress)
    .max(MAX_SELECTED)
    .default([])
    .describe(
      "For `manual`: URLs of the pages. For `sitemap`: only pages whose URL starts with one of these; all pages if there are none.",
    ),
});

export const knowledgeBaseSchema = named("KnowledgeBase", {
  knowledge_base_id: z.uuid(),
  name: z.string(),
  description: z.string(),
  connection_id: z.uuid().nullable(),
  connection_source_ids: z.array(z.string()),
  website_sources: z.array(websiteSourceSchema),
  indexing_params: indexingParamsSchema,
  is_empty: z.boolean().describe("Whether it has no documents."),
  total_size: z.int().describe("Total size of its documents in bytes."),
  total_files: z.int(),
  total_indexed_files: z.int(),
  total_error_files: z.int(),
  last_synced_at: z.iso.datetime().nullable(),
  user_metadata_schema: metadataSchemaSchema,
  dataloader_metadata_schema: metadataSchemaSchema,
  sync: named("KnowledgeBaseSyncSettings", {
    schedule_cron: z.string().nullable(),
    status: z.enum(["idle", ...SYNC_STATES]).describe("Status of the last sync; `idle` before the first one."),
    last_sync_id: z.uuid().nullable(),
    last_error: z.string().nullable().describe("Why the schedule cannot be used; `null` if it can."),
  }),
  reindex_required: z
    .boolean()
    .describe(
      "Whether `indexing_params` have changed since its documents were indexed. Until a full sync, search uses the old index.",
    ),
  org_id: z.uuid(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

/** A knowledge base with the next times of its schedule. */
export const shownKnowledgeBaseSchema = named("KnowledgeBaseShown", {
  ...knowledgeBaseSchema.shape,
  sync: named("KnowledgeBaseSyncOutlook", {
    ...knowledgeBaseSchema.shape.sync.shape,
    next_times: z
      .array(z.iso.datetime())
      .nullable()
      .describe(
        "Times of the next scheduled syncs, up to five. `null` without a schedule, or if Temporal does not report them.",
      ),
    warnings: z.array(z.string()).describe("Parts of the schedule that may not mean what the author intended."),
  }),
});

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

export const metadataSchemasSchema = named("MetadataSchemas", {
  user_metadata_schema: metadataSchemaSchema,
  dataloader_metadata_schema: metadataSchemaSchema.describe(
    "Fields read from documents: the built-in ones and the ones declared for this knowledge base.",
  ),
  builtin: z
    .object({ properties: z.record(z.string(), z.object({ type: z.enum(METADATA_TYPES) })) })
    .describe("Fields of every document."),
});

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
