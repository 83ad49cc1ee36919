import { z } from "zod";
import { jsonLength } from "../json.ts";

/** Longest metadata, bytes of JSON. */
const MAX_METADATA_BYTES = 16 * 1024;

/** Metadata that a person or program attaches to a score. */
export const scoreMetadataSchema = z
  .record(z.string(), z.json())
  .refine(
    (metadata) => jsonLength(metadata) <= MAX_METADATA_BYTES,
    `Must be at most ${MAX_METADATA_BYTES} bytes of JSON`,
  );
