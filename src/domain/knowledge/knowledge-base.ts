import { z } from "zod";
import { textUpTo, wholeNumber } from "../schema-parts.ts";
import type { KnowledgeResult } from "./query.ts";

const CHUNKER_TYPES = ["naive", "sentence"] as const;
export const RESOURCE_SOURCES = ["upload", "url", "text"] as const;
export type ResourceSource = (typeof RESOURCE_SOURCES)[number];

/** States of a document. `pending_delete` is the only one that it never leaves. */
export const RESOURCE_STATUSES = ["pending", "resource", "parsed", "indexed", "error", "pending_delete"] as const;
export type ResourceStatus = (typeof RESOURCE_STATUSES)[number];

/** Name of the embedding model that is part of the installation. */
export const LOCAL_EMBEDDING_MODEL = "local";

const MIN_CHUNK_SIZE = 50;
const MAX_CHUNK_SIZE = 20_000;

/** How the documents of a knowledge base are read, cut into chunks and embedded. Sizes in characters. */
export const indexingParamsSchema = z
  .strictObject({
    ocr: z.boolean().default(false).describe("Reads images and pages without text by optical character recognition"),
    embedding_params: z
      .strictObject({
        embedding_model: textUpTo(200)
          .nullable()
          .describe("`local`, a model of the default connection, or null for keyword search only"),
      })
      .default({ embedding_model: LOCAL_EMBEDDING_MODEL }),
    chunker_params: z
      .strictObject({
        chunk_size: wholeNumber(MIN_CHUNK_SIZE, MAX_CHUNK_SIZE).default(1500),
        chunk_overlap: wholeNumber(0, MAX_CHUNK_SIZE).default(500),
        chunker_type: z.enum(CHUNKER_TYPES).default("sentence"),
      })
      .default({ chunk_size: 1500, chunk_overlap: 500, chunker_type: "sentence" }),
  })
  .refine(({ chunker_params }) => chunker_params.chunk_overlap < chunker_params.chunk_size, {
    path: ["chunker_params", "chunk_overlap"],
    error: "chunk_overlap must be smaller than chunk_size",
  });

export type IndexingParams = Readonly<z.infer<typeof indexingParamsSchema>>;

/** The same with all fields optional; an omitted field keeps its value, or gets the default. */
export const indexingParamsInputSchema = z.strictObject({
  ocr: indexingParamsSchema.shape.ocr.unwrap().optional(),
  embedding_params: indexingParamsSchema.shape.embedding_params.unwrap().partial().optional(),
  chunker_params: z
    .strictObject({
      chunk_size: wholeNumber(MIN_CHUNK_SIZE, MAX_CHUNK_SIZE)
        .optional()
        .describe("Length of a chunk in characters. Default 1500"),
      chunk_overlap: wholeNumber(0, MAX_CHUNK_SIZE)
        .optional()
        .describe(
          "Characters shared by neighbouring chunks; less than chunk_size. Default 500, or a third of chunk_size if that is 500 or less",
        ),
      chunker_type: z.enum(CHUNKER_TYPES).optional().describe("How text is split into chunks. Default sentence"),
    })
    .optional(),
});
export type IndexingParamsInput = Readonly<z.infer<typeof indexingParamsInputSchema>>;

export const WEBSITE_SOURCE_TYPES = ["sitemap", "manual"] as const;

/** A chunk as the chunker makes it. */
export interface NewChunk extends Pick<KnowledgeResult, "chunk_index" | `${"page" | "char"}_${"start" | "end"}`> {
  readonly text: string;
  /** The headings above the chunk. They are searched and embedded with its text, but are not part of it. */
  readonly context: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}
