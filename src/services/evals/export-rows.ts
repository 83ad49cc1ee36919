import type { Readable } from "node:stream";
import { invalid } from "../../domain/errors.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { MAX_COLUMNS, csvLine, textStream } from "../../platform/records.ts";
import type { Database } from "../../stores/db.ts";
import { inPortions } from "../../stores/in-portions.ts";
import type { Keyset } from "../../stores/keyset.ts";
import { listRows, rowColumns } from "../../stores/evals/dataset-rows.ts";
import type { DatasetRowRow, RowSearch } from "../../stores/evals/dataset-rows.ts";
import { requireDataset } from "./datasets.ts";

/** The first columns of an exported table; by them an import knows one. */
export const ROW_COLUMNS = ["row_id", "external_id", "split", "tags", "status"] as const;

/** Most nodes and members of metadata in a table that can be imported again. */
const MAX_NAMED = MAX_COLUMNS - ROW_COLUMNS.length;

/**
 * The rows of a version of a dataset as a file: JSONL has them unchanged, CSV has a column for each node. Throws 422
 * where a table would have too many columns.
 */
export async function exportRows(
  db: Pick<Database, "org">,
  orgId: string,
  datasetId: string,
  search: RowSearch,
  format: "csv" | "jsonl",
): Promise<Readable> {
  const columns =
    format === "csv"
      ? await db.org(orgId, (connection) => rowColumns(connection, datasetId, search.version, MAX_NAMED + 1))
      : [];
  if (columns.length > MAX_NAMED) {
    const message = `A table has at most ${MAX_COLUMNS} columns, and these rows have more nodes and members of metadata: take jsonl`;
    throw invalid(["query", "format"], message);
  }

  async function* rows(): AsyncGenerator<DatasetRowRow> {
    const fetch = (page: Keyset) => db.org(orgId, (connection) => listRows(connection, datasetId, search, page));
    for await (const portion of inPortions(fetch, ({ row_id }) => row_id, { beyond: null, ascending: true }))
      yield* portion.rows;
    // Its rows are removed with it, and a part of them must not look like the whole: the answer is broken off.
    await db.org(orgId, (connection) => requireDataset(connection, datasetId));
  }

  async function* csv(): AsyncGenerator<string> {
    yield csvLine([...ROW_COLUMNS, ...columns.map(({ part, name }) => `${part}.${name}`)]);
    for await (const row of rows()) {
      const cells = columns.map(({ part, name }) => cellText(row[part][name]));
      yield csvLine([row.row_id, row.external_id ?? "", row.split ?? "", row.tags.join(","), row.status, ...cells]);
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

/** Texts unchanged, other values as JSON. */
function cellText(value: Json | undefined): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
