import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { DUPLICATE_RULES } from "../../domain/knowledge/ingest.ts";
import { jsonField } from "../http/read-multipart.ts";
import { visibleText } from "../http/text-fields.ts";

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
export const resourceForm = z
  .strictObject({
    file: z.file().describe("The document; must not be empty."),
    user_metadata: jsonField(userMetadata).optional(),
    external_id: externalId.optional(),
    on_duplicate: onDuplicate.optional(),
  })
  .meta({ id: "KnowledgeBaseResourceUpload" });

const address = z
  .string()
  .max(MAX_URL)
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), "must be an http or https URL")
  .describe("URL of a page or file to fetch.");

const one = {
  url: address.optional(),
  text: z.string().min(1).optional().describe("The text to index; needs a `name`."),
  name: visibleText(512).optional().describe("Name of the document (`resource_path`). Default for a `url`: the URL."),
  user_metadata: userMetadata.optional(),
  external_id: externalId.optional(),
  on_duplicate: onDuplicate.optional(),
};

interface OneOf {
  readonly url?: string | undefined;
  readonly text?: string | undefined;
  readonly name?: string | undefined;
}

function checkOne({ url, text, name }: OneOf, context: z.RefinementCtx): void {
  if ((url === undefined) === (text === undefined)) {
    context.addIssue({ code: "custom", message: "send either url, or text with name" });
  } else if (text !== undefined && name === undefined) {
    context.addIssue({ code: "custom", path: ["name"], message: "name is required with text" });
  }
}

const resourceInput = z.strictObject(one).superRefine(checkOne).meta({ id: "KnowledgeBaseResourceInput" });
export type ResourceInputBody = z.output<typeof resourceInput>;

/** One resource, or several under `resources`. */
export const resourcesBody = z
  .strictObject({ ...one, resources: z.array(resourceInput).min(1).max(MAX_RESOURCES).optional() })
  .superRefine((body, context) => {
    const { resources, ...rest } = body;
    if (resources === undefined) checkOne(body, context);
    else if (Object.values(rest).some((value) => value !== undefined)) {
      context.addIssue({ code: "custom", path: ["resources"], message: "with resources, no other field is allowed" });
    }
  })
  .meta({ id: "KnowledgeBaseResourcesInput" });

/** The fields of a resource that can be updated. */
export const resourceChange = z
  .strictObject({
    name: visibleText(512).optional().describe("New name of the document (`resource_path`)."),
    user_metadata: userMetadata
      .optional()
      .describe("New values of metadata fields. `null` clears a field; omitted fields keep their values."),
  })
  .meta({ id: "KnowledgeBaseResourceChange" });
