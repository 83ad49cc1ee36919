import type { JsonObject } from "../../json.ts";
import type { MediaKind } from "../../media/media.ts";
import { MEDIA_TYPES } from "../../media/media.ts";

/** Sample bytes for examples: the headers of a file without content. */
const SAMPLES: Readonly<Record<MediaKind, string>> = {
  audio: "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=",
  image: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
};

/** The input of a node that takes a recording or an image. */
export function mediaInput(
  kind: MediaKind,
  config: { readonly description?: string },
  maxBytes: number,
  types: readonly string[] = MEDIA_TYPES[kind],
): JsonObject {
  const ways =
    kind === "image"
      ? "base64 (or a data URI), a URL, or the file_id of a file uploaded to this node under the run's user_id"
      : "base64 (or a data URI), or the file_id of a file uploaded to this node under the run's user_id";
  return {
    type: "string",
    minLength: 1,
    contentEncoding: "base64",
    contentMediaType: `${kind}/*`,
    description: config.description === undefined ? `As ${ways}` : `${config.description} (as ${ways})`,
    examples: [SAMPLES[kind]],
    "x-accept": types,
    "x-max-bytes": maxBytes,
  };
}

/** The value of a node that takes a recording or an image. */
export const MEDIA_TEXT: JsonObject = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
};
