import { z } from "zod";
import { RESOURCE_SOURCES, RESOURCE_STATUSES } from "../../domain/knowledge/knowledge-base.ts";
import type { ResourceRow } from "../../stores/knowledge/resources.ts";
import { asDeclared } from "../http/as-declared.ts";

const metadata = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]));

/** A resource of a knowledge base as the API shows it. */
export const resourceSchema = z
  .object({
    knowledge_base_id: z.uuid(),
    resource_id: z.uuid(),
    resource_path: z.string().describe("The file name, the name of the text, or the URL."),
    source: z.enum(RESOURCE_SOURCES),
    source_url: z.string().nullable(),
    external_id: z.string().nullable(),
    status: z
      .enum(RESOURCE_STATUSES)
      .describe(
        "Progress of indexing: `pending`, `resource` (the file is stored), `parsed` (the text is extracted), then `indexed` or `error`.",
      ),
    error: z.object({ code: z.string(), message: z.string() }).nullable().describe("Why it could not be indexed."),
    content_hash: z.string().nullable().describe("SHA-256 of the file, in hexadecimal digits."),
    content_mime: z.string().nullable().describe("Type of the content, detected from the bytes and not from the name."),
    size: z.int().describe("Size in bytes."),
    chunk_count: z.int(),
    page_count: z.int().nullable(),
    user_metadata: metadata,
    dataloader_metadata: metadata,
    created_at: z.iso.datetime(),
    modified_at: z.iso.datetime(),
    indexed_at: z.iso.datetime().nullable(),
    text: z
      .string()
      .nullable()
      .optional()
      .describe(
        "The extracted text, only with `expand=text`. `char_start` and `char_end` of chunks refer to it. `null` until it is parsed.",
      ),
  })
  .meta({ id: "KnowledgeBaseResource" });
export type ResourceView = z.infer<typeof resourceSchema>;

/** Shows a resource. */
export const presentResource = (resource: ResourceRow): ResourceView => asDeclared(resourceSchema, resource);
