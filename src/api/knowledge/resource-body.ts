import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { DUPLICATE_RULES } from "../../domain/knowledge/ingest.ts";
import { jsonField } from "../http/read-multipart.ts";
import { visibleText } from "../http/text-fields.ts";

/** Resources that one request may add. */
const MAX_RESOURCES = 100;
const MAX_URL = 2048;

const userMetadata = jsonObjectSchema.describe(
  "Values of the fields in the knowledge base's `user_metadata_schema`; anything else is refused.",
);
const externalId = visibleText(512).describe(
  "Your own name for the resource. Added again, it takes the place of the one before, which is found until then.",
);
const onDuplicate = z
  .enum(DUPLICATE_RULES)
  .describe(
    "What to do where the resource is there already: with the same `external_id`, or without one with the same content or address. Default: `replace` with the same `external_id`, otherwise `skip`.",
  );

/** A file with its fields; `user_metadata` is JSON. */
export const resourceForm = z
  .strictObject({
    file: z.file().describe("The document; not empty."),
    user_metadata: jsonField(userMetadata).optional(),
    external_id: externalId.optional(),
    on_duplicate: onDuplicate.optional(),
  })
  .meta({ id: "KnowledgeBaseResourceUpload" });

const address = z
  .string()
  .max(MAX_URL)
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    "an http or https address is expected",
  )
  .describe("The address of a page or file, which is fetched.");

const one = {
  url: address.optional(),
  text: z.string().min(1).optional().describe("The text itself; it needs a `name`."),
  name: visibleText(512)
    .optional()
    .describe("The name of the resource (`resource_path`). The default for a `url` is the address."),
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
    context.addIssue({ code: "custom", message: "either url, or text with a name, is expected" });
  } else if (text !== undefined && name === undefined) {
    context.addIssue({ code: "custom", path: ["name"], message: "a text needs a name" });
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
      context.addIssue({ code: "custom", path: ["resources"], message: "beside resources nothing else is expected" });
    }
  })
  .meta({ id: "KnowledgeBaseResourcesInput" });

/** The fields of a resource that can be updated. */
export const resourceChange = z
  .strictObject({
    name: visibleText(512).optional().describe("The new name of the resource (`resource_path`)."),
    user_metadata: userMetadata
      .optional()
      .describe("New values of fields. Null removes a field, and absent ones stay."),
  })
  .meta({ id: "KnowledgeBaseResourceChange" });
