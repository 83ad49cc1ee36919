import type { Readable } from "node:stream";
import { invalid } from "../../domain/errors.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { MAX_COLUMNS, csvLine, textStream } from "../../platform/records.ts";
import type { Database } from "../../stores/db.ts";
import { listRows, rowColumns } from "../../stores/evals/dataset-rows.ts";
import type { DatasetRowRow, RowSearch } from "../../stores/evals/dataset-rows.ts";

/** Rows that are read together: few at first, then as many as have about so many characters. A row may be 1 MiB. */
const FIRST_PAGE = 20;
const MAX_PAGE = 500;
const PAGE_CHARS = 4 * 1024 * 1024;
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
    let beyond: string | null = null;
    for (let limit = FIRST_PAGE; ;) {
      const keyset = { beyond, ascending: true, limit };
      const page: DatasetRowRow[] = await db.org(orgId, (connection) =>
        listRows(connection, datasetId, search, keyset),
      );
      yield* page;
      if (page.length < limit) return;
      beyond = page.at(-1)?.row_id ?? null;
      const length = JSON.stringify(page).length / page.length;
      limit = Math.max(1, Math.min(MAX_PAGE, 2 * limit, Math.floor(PAGE_CHARS / length)));
    }
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
