import { objectSchema } from "../../json-schema.ts";
import type { JsonObject } from "../../json.ts";
import { CHANGES, inputsOf, READS } from "../action.ts";
import { fieldsOf, plain, secretText, webAddress } from "../auth-fields.ts";
import { defineProvider } from "../provider.ts";

/** Amazon's rules for bucket names, with which a name cannot lead to another host. */
const BUCKET_NAME = "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$";

const bucket = { type: "string", pattern: BUCKET_NAME } as const;
const key = { type: "string", minLength: 1, maxLength: 1024, description: "Full name of the object" } as const;

const text = { type: "string" };
const object: JsonObject = {
  type: "object",
  properties: { key: text, size: { type: "integer" }, etag: text, last_modified: text },
};

export const s3 = defineProvider({
  provider_id: "s3",
  name: "S3",
  description: "Objects in Amazon S3 and compatible stores; also a source for knowledge bases",
  provider_group: ["storage"],
  tags: ["files", "objects", "aws"],
  auth: {
    required: true,
    schemes: {
      api_key: {
        fields: fieldsOf(
          {
            access_key_id: plain("Access key ID"),
            secret_access_key: secretText("Secret access key"),
            session_token: secretText("Session token, for temporary credentials"),
            region: plain("Region", { default: "us-east-1", pattern: "^[A-Za-z0-9-]{1,64}$" }),
            endpoint: webAddress("URL of a store that is not Amazon's; path-style bucket URLs are used", {
              pattern: "^https?://[^/?#@\\s]+/?$",
            }),
          },
          ["session_token", "endpoint"],
        ),
      },
    },
  },
  actions: {
    list_objects: {
      name: "List objects",
      description: "Lists the objects of a bucket, page by page",
      annotations: READS,
      input_schema: inputsOf(
        { bucket },
        {
          prefix: { type: "string", maxLength: 1024, description: "Only objects whose names start with this" },
          delimiter: { type: "string", minLength: 1, maxLength: 10, description: "/ lists one level, like a folder" },
          max_keys: { type: "integer", minimum: 1, maximum: 1000 },
          cursor: { type: "string", minLength: 1, maxLength: 4096, description: "`cursor` of the previous page" },
        },
      ),
      output_schema: objectSchema({
        objects: { type: "array", items: object },
        prefixes: { type: "array", items: text, description: "Only with delimiter: the levels below" },
        cursor: { type: ["string", "null"], description: "Cursor of the next page" },
      }),
    },
    get_object: {
      name: "Get an object",
      description: "Reads an object: JSON is parsed, text is returned as text, anything else as base64",
      annotations: READS,
      input_schema: inputsOf({ bucket, key }),
      output_schema: {
        type: "object",
        properties: { ...(object["properties"] as JsonObject), content_type: { type: ["string", "null"] }, body: {} },
        required: ["key", "size", "body"],
      },
    },
    put_object: {
      name: "Put an object",
      description: "Writes an object and replaces an existing one",
      annotations: CHANGES,
      input_schema: inputsOf(
        { bucket, key },
        {
          body: { description: "Stored as JSON, or unchanged if it is a string" },
          body_base64: { type: "string", description: "Bytes in base64, instead of body" },
          content_type: { type: "string", pattern: "^[\\x20-\\x7e]{1,200}$" },
        },
      ),
      output_schema: { type: "object", properties: { key: text, etag: text, size: {} } },
    },
  },
});
