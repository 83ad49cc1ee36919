import { z } from "zod";
import { distinct } from "../distinct.ts";
import type { JsonObject } from "../json.ts";

export const ROW_STATUSES = ["active", "archived"] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];
export const ROW_SOURCES = ["manual", "import", "run"] as const;

/** Longest row (bytes of JSON): a dataset holds texts and references; audio and files are kept elsewhere. */
const MAX_ROW_BYTES = 1024 * 1024;

const nodeId = z
  .string()
  .regex(/^(?!__proto__$)[A-Za-z0-9_-]{1,64}$/, "A node id: letters, digits, _ and -, at most 64");
const byNode = z.record(nodeId, z.json());
// oxlint-disable-next-line no-control-regex
const label = z.string().regex(/^[^\u0000-\u001f,]{1,100}$/, "1 to 100 characters without commas");

/** Annotations of a row by a person or a file. */
export const rowContentSchema = z.strictObject({
  external_id: z.string().min(1).max(512).nullish().describe("Your own name for the row, unique within the dataset."),
  inputs: byNode.describe("By id of the flow's input node."),
  expected_outputs: byNode.default({}).describe("By id of the output node."),
  metadata: z.record(z.string(), z.json()).default({}),
  split: label.nullish().describe("The part of the dataset that it is in, `test` for example."),
  tags: z.array(label).max(20).overwrite(distinct).default([]),
});

/** A row's content, whole. */
export interface RowContent {
  readonly external_id: string | null;
  readonly inputs: JsonObject;
  readonly expected_outputs: JsonObject;
  readonly metadata: JsonObject;
  readonly split: string | null;
  readonly tags: readonly string[];
}

/** A row as it is written. */
export interface NewRow extends RowContent {
  readonly row_id: string;
  readonly source_type: (typeof ROW_SOURCES)[number];
  readonly source_run_id: string | null;
}

/** Why a row is too long, as a sentence; undefined if it is not. */
export function tooLong(content: RowContent): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(content));
  return bytes > MAX_ROW_BYTES ? `A row is at most ${MAX_ROW_BYTES} bytes of JSON, not ${bytes}` : undefined;
}

/** The parsed content with every member. */
export function rowContent(parsed: z.output<typeof rowContentSchema>): RowContent {
  return { ...parsed, external_id: parsed.external_id ?? null, split: parsed.split ?? null };
}
