import type { JsonObject } from "../../json.ts";
import { CHANGES, defineAction, inputsOf, READS } from "../action.ts";
import { fieldsOf, plain, secretText, webAddress } from "../auth-fields.ts";
import type { BuiltinProvider } from "../provider.ts";

/** Amazon's rules for bucket names, with which a name cannot lead to another host. */
const BUCKET_NAME = "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$";

const bucket = { type: "string", pattern: BUCKET_NAME } as const;
const key = { type: "string", minLength: 1, maxLength: 1024, description: "Full name of the object" } as const;

const object: JsonObject = {
  type: "object",
  properties: {
    key: { type: "string" },
    size: { type: "integer" },
    etag: { type: "string" },
    last_modified: { type: "string" },
  },
};

const listObjects = defineAction({
  action_id: "list_objects",
  name: "List objects",
  description: "Lists the objects of a bucket, page by page",
  annotations: READS,
  input_schema: inputsOf(
    {
      bucket,
      prefix: { type: "string", maxLength: 1024, description: "Only objects whose names start with this" },
      delimiter: { type: "string", minLength: 1, maxLength: 10, description: "/ lists one level, like a folder" },
      max_keys: { type: "integer", minimum: 1, maximum: 1000 },
      cursor: { type: "string", minLength: 1, maxLength: 4096, description: "`cursor` of the previous page" },
    },
    ["prefix", "delimiter", "max_keys", "cursor"],
  ),
  output_schema: {
    type: "object",
    properties: {
      objects: { type: "array", items: object },
      prefixes: { type: "array", items: { type: "string" }, description: "Only with delimiter: the levels below" },
      cursor: { type: ["string", "null"], description: "Cursor of the next page" },
    },
    required: ["objects", "prefixes", "cursor"],
  },
});

const getObject = defineAction({
  action_id: "get_object",
  name: "Get an object",
  description: "Reads an object: JSON is parsed, text is returned as text, anything else as base64",
  annotations: READS,
  input_schema: inputsOf({ bucket, key }),
  output_schema: {
    type: "object",
    properties: { ...(object["properties"] as JsonObject), content_type: { type: ["string", "null"] }, body: {} },
    required: ["key", "size", "body"],
  },
});

const putObject = defineAction({
  action_id: "put_object",
  name: "Put an object",
  description: "Writes an object and replaces an existing one",
  annotations: CHANGES,
  input_schema: inputsOf(
    {
      bucket,
      key,
      body: { description: "Stored as JSON, or unchanged if it is a string" },
      body_base64: { type: "string", description: "Bytes in base64, instead of body" },
      content_type: { type: "string", pattern: "^[\\x20-\\x7e]{1,200}$" },
    },
    ["body", "body_base64", "content_type"],
  ),
  output_schema: { type: "object", properties: { key: { type: "string" }, etag: { type: "string" }, size: {} } },
});

export const s3: BuiltinProvider = {
  provider_id: "s3",
  provider_version: "1",
  name: "S3",
  description: "Objects in Amazon S3 and compatible stores; also a source for knowledge bases",
  provider_group: ["storage"],
  tags: ["files", "objects", "aws"],
  icon: null,
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
  source: "builtin",
  actions: [listObjects, getObject, putObject],
};
