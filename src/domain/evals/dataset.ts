import { z } from "zod";
import { distinct } from "../distinct.ts";
import type { JsonObject } from "../json.ts";

export const ROW_STATUSES = ["active", "archived"] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];
export const ROW_SOURCES = ["manual", "import", "run"] as const;

/** Longest row (bytes of JSON). A dataset holds text and references; audio and files are stored elsewhere. */
const MAX_ROW_BYTES = 1024 * 1024;

const nodeId = z
  .string()
  .regex(/^(?!__proto__$)[A-Za-z0-9_-]{1,64}$/, "A node ID has at most 64 characters: letters, digits, _ and -");
const byNode = z.record(nodeId, z.json());
// oxlint-disable-next-line no-control-regex
const label = z.string().regex(/^[^\u0000-\u001f,]{1,100}$/, "Must be 1 to 100 characters without commas");

/** What people or an imported file provide for a row. */
export const rowContentSchema = z.strictObject({
  external_id: z.string().min(1).max(512).nullish().describe("Your own ID for the row, unique within the dataset."),
  inputs: byNode.describe("Inputs, keyed by ID of the flow's input node."),
  expected_outputs: byNode.default({}).describe("Expected outputs, keyed by ID of the output node."),
  metadata: z.record(z.string(), z.json()).default({}),
  split: label.nullish().describe("The split that the row belongs to, for example `test`."),
  tags: z.array(label).max(20).overwrite(distinct).default([]),
});

/** A row's content with all fields. */
export interface RowContent {
  readonly external_id: string | null;
  readonly inputs: JsonObject;
  readonly expected_outputs: JsonObject;
  readonly metadata: JsonObject;
  readonly split: string | null;
  readonly tags: readonly string[];
}

export interface NewRow extends RowContent {
  readonly row_id: string;
  readonly source_type: (typeof ROW_SOURCES)[number];
  readonly source_run_id: string | null;
}

/** Why a row is too long, as a sentence; undefined if it is not. */
export function tooLong(content: RowContent): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(content));
  return bytes > MAX_ROW_BYTES
    ? `A row may have at most ${MAX_ROW_BYTES} bytes of JSON; this one has ${bytes}`
    : undefined;
}

/** Fills in the fields that were omitted. */
export function rowContent(parsed: z.output<typeof rowContentSchema>): RowContent {
  return { ...parsed, external_id: parsed.external_id ?? null, split: parsed.split ?? null };
}
