import { z } from "zod";
import { listUpTo } from "../../schema-parts.ts";
import { objectSchema } from "../../json-schema.ts";
import type { JsonObject } from "../../json.ts";
import { defineNode, remembersNothing } from "./spec.ts";

const MIME_TYPE = /^[A-Za-z0-9!#$&^_.+-]{1,127}\/([A-Za-z0-9!#$&^_.+-]{1,127}|\*)$/;

const config = z.strictObject({
  required: z.boolean().default(false).describe("Whether the node fails if nothing was uploaded"),
  accept: listUpTo(50, z.string().regex(MIME_TYPE, "Must be a media type such as application/pdf or text/*"))
    .exactOptional()
    .describe("Media types an upload can have; if omitted, every type that can be read"),
  description: z.string().max(2000).exactOptional().describe("Description for people of what to upload"),
});

const documentSchema: JsonObject = {
  type: "object",
  properties: {
    file_id: { type: "string" },
    filename: { type: "string" },
    mime_type: { type: "string" },
    text: { type: "string" },
    pages: { type: ["integer", "null"] },
  },
  required: ["file_id", "filename"],
};

export const filesSpec = defineNode({
  title: "Documents",
  group: "inputs",
  icon: "document",
  description: "The documents uploaded to this node with the run's user_id, as text",
  example: { required: true, accept: ["application/pdf"], description: "The contract" },
  config,
  input: true,
  execution: () => "local",
  remembers: remembersNothing,
  io: {
    output: () => objectSchema({ documents: { type: "array", items: documentSchema }, text: { type: "string" } }),
    input: (config) => ({
      schema: {
        description: `${config.description ?? "Documents"} (uploaded with POST /upload_to_storage_user before the run, not sent in its body)`,
        "x-upload": true,
        ...(config.accept === undefined ? {} : { "x-accept": config.accept }),
      },
      // Not required in the request: documents are uploaded separately, so `required` is checked when the node runs.
      required: false,
    }),
  },
});
