import { objectSchema } from "../../json-schema.ts";
import type { JsonObject } from "../../json.ts";
import { MEDIA_TYPES, type MediaKind } from "../../media/media.ts";
import type { Execution } from "../kinds.ts";
import { NETWORK_RETRY, remembersNothing } from "./spec.ts";

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
  const url = kind === "image" ? "a URL, " : "";
  const ways = `base64 (or a data URI), ${url}or the file_id of a file uploaded to this node under the run's user_id`;
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

/** What the node types that take a recording or an image have in common. */
export const mediaNode = {
  group: "inputs",
  advanced: ["model", "connection_id"],
  input: true,
  execution: (): Execution => "activity",
  outputMember: () => "text",
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 300_000,
  io: { output: () => objectSchema({ text: { type: "string" } }) },
} as const;
