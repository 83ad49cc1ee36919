import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { DUPLICATE_RULES } from "../../domain/knowledge/ingest.ts";
import { RESOURCE_SOURCES, RESOURCE_STATUSES } from "../../domain/knowledge/knowledge-base.ts";
import type { ResourceRow } from "../../stores/knowledge/resources.ts";
import { jsonField } from "../http/read-multipart.ts";
import { asDeclared, named, namedStrict, visibleText } from "../http/schemas.ts";

/** Most resources that one request may add. */
const MAX_RESOURCES = 100;
const MAX_URL = 2048;

const userMetadata = jsonObjectSchema.describe(
  "Values of the fields in the knowledge base's `user_metadata_schema`; other fields are rejected.",
);
const externalId = visibleText(512).describe(
  "Your own ID for the document. By default, adding a document with the same ID replaces the earlier one, which queries find until then.",
);
const onDuplicate = z
  .enum(DUPLICATE_RULES)
  .describe(
    "What to do if the document exists already: one with the same `external_id` or, without an `external_id`, with the same content or URL. Default: `replace` for the same `external_id`, otherwise `skip`.",
  );

/** A file with its fields; `user_metadata` is JSON text. */
export const resourceForm = namedStrict("KnowledgeBaseResourceUpload", {
  file: z.file().describe("The document; must not be empty."),
  user_metadata: jsonField(userMetadata).optional(),
  external_id: externalId.optional(),
  on_duplicate: onDuplicate.optional(),
});

const address = z
  .string()
  .max(MAX_URL)
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), "must be an http or https URL")
  .describe("URL of a page or file to fetch.");

const one = z.strictObject({
  url: address.optional(),
  text: z.string().min(1).optional().describe("The text to index; needs a `name`."),
  name: visibleText(512).optional().describe("Name of the document (`resource_path`). Default for a `url`: the URL."),
  user_metadata: userMetadata.optional(),
  external_id: externalId.optional(),
  on_duplicate: onDuplicate.optional(),
});

function checkOne({ url, text, name }: z.output<typeof one>, context: z.RefinementCtx): void {
  if ((url === undefined) === (text === undefined)) {
    context.addIssue({ code: "custom", message: "send either url, or text with name" });
  } else if (text !== undefined && name === undefined) {
    context.addIssue({ code: "custom", path: ["name"], message: "name is required with text" });
  }
}

const resourceInput = one.superRefine(checkOne).meta({ id: "KnowledgeBaseResourceInput" });
export type ResourceInputBody = z.output<typeof resourceInput>;

/** One resource, or several under `resources`. */
export const resourcesBody = one
  .extend({ resources: z.array(resourceInput).min(1).max(MAX_RESOURCES).optional() })
  .superRefine((body, context) => {
    const { resources, ...rest } = body;
    if (resources === undefined) checkOne(body, context);
    else if (Object.values(rest).some((value) => value !== undefined)) {
      context.addIssue({ code: "custom", path: ["resources"], message: "with resources, no other field is allowed" });
    }
  })
  .meta({ id: "KnowledgeBaseResourcesInput" });

/** The fields of a resource that can be updated. */
export const resourceChange = namedStrict("KnowledgeBaseResourceChange", {
  name: visibleText(512).optional().describe("New name of the document (`resource_path`)."),
  user_metadata: userMetadata
    .optional()
    .describe("New values of metadata fields. `null` clears a field; omitted fields keep their values."),
});

const metadata = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]));

/** A resource of a knowledge base as the API shows it. */
export const resourceSchema = named("KnowledgeBaseResource", {
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
});
export type ResourceView = z.infer<typeof resourceSchema>;

/** Shows a resource. */
export const presentResource = (resource: ResourceRow): ResourceView => asDeclared(resourceSchema, resource);
