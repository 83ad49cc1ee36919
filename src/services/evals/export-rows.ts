import type { Readable } from "node:stream";
import { invalid } from "../../domain/errors.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { MAX_COLUMNS, csvHeader, csvLine, textStream, type Cell } from "../../platform/records.ts";
import type { Reads } from "../system/reads.ts";
import { inPortions } from "../../stores/in-portions.ts";
import type { Keyset } from "../../stores/keyset.ts";
import { listRows, rowColumns, type DatasetRowRow, type RowSearch } from "../../stores/evals/dataset-rows.ts";
import { requireDataset } from "./datasets.ts";

/** The first columns of an exported table, by which an import recognises it. */
export const ROW_COLUMNS = ["row_id", "external_id", "split", "tags", "status"] as const;

/** Most nodes and metadata fields in a table that can be imported again. */
const MAX_NAMED = MAX_COLUMNS - ROW_COLUMNS.length;

/**
 * The rows of a version of a dataset as a file: JSONL has them unchanged, CSV has a column for each node. Throws 422 if
 * a table would have too many columns.
 */
export async function exportRows(
  reads: Pick<Reads, "org">,
  orgId: string,
  datasetId: string,
  search: RowSearch,
  format: "csv" | "jsonl",
): Promise<Readable> {
  const columns =
    format === "csv"
      ? await reads.org(orgId, (connection) => rowColumns(connection, datasetId, search.version, MAX_NAMED + 1))
      : [];
  if (columns.length > MAX_NAMED) {
    const message = `A table can have at most ${MAX_COLUMNS} columns, and these rows have more nodes and metadata fields: export as jsonl`;
    throw invalid(["query", "format"], message);
  }

  async function* rows(): AsyncGenerator<DatasetRowRow> {
    const fetch = (page: Keyset) =>
      reads.org(orgId, (connection) => listRows(connection, datasetId, search, page), true);
    for await (const portion of inPortions(fetch, ({ row_id }) => row_id, { beyond: null, ascending: true }))
      yield* portion.rows;
    // If the dataset was deleted meanwhile, rows may be missing, so the response is aborted instead of looking
    // complete.
    await reads.org(orgId, (connection) => requireDataset(connection, datasetId), true);
  }

  async function* csv(): AsyncGenerator<string> {
    yield csvHeader([...ROW_COLUMNS, ...columns.map(({ part, name }) => `${part}.${name}`)]);
    for await (const row of rows()) {
      const cells = columns.map(({ part, name }) => cellText(row[part][name]));
      yield csvLine([
        row.row_id,
        row.external_id ?? undefined,
        row.split ?? undefined,
        row.tags.join(",") || undefined,
        row.status,
        ...cells,
      ]);
    }
  }

  async function* jsonl(): AsyncGenerator<string> {
    for await (const { row_id, external_id, inputs, expected_outputs, metadata, split, tags, status } of rows()) {
      const line: JsonObject = { row_id, external_id, inputs, expected_outputs, metadata, split, tags, status };
      yield `${JSON.stringify(line)}\n`;
    }
  }
  return textStream(format === "csv" ? csv() : jsonl());
}

/** Texts and null unchanged, other values as JSON. */
function cellText(value: Json | undefined): Cell {
  return value === undefined || value === null || typeof value === "string" ? value : JSON.stringify(value);
}
