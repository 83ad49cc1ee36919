import type { Readable } from "node:stream";
import type { Json, JsonObject } from "../../domain/json.ts";
import { csvLine, textStream } from "../../platform/records.ts";
import type { Database } from "../../stores/db.ts";
import { listRows, rowColumns } from "../../stores/evals/dataset-rows.ts";
import type { DatasetRowRow, RowSearch } from "../../stores/evals/dataset-rows.ts";

const PAGE = 500;
/** The first columns of an exported table; by them an import knows one. */
export const ROW_COLUMNS = ["row_id", "external_id", "split", "tags", "status"] as const;

/** The rows of a version of a dataset as a file: JSONL has them unchanged, CSV has a column for each node. */
export function exportRows(
  db: Pick<Database, "org">,
  orgId: string,
  datasetId: string,
  search: RowSearch,
  format: "csv" | "jsonl",
): Readable {
  async function* rows(): AsyncGenerator<DatasetRowRow> {
    let beyond: string | null = null;
    for (;;) {
      const keyset = { beyond, ascending: true, limit: PAGE };
      const page: DatasetRowRow[] = await db.org(orgId, (connection) =>
        listRows(connection, datasetId, search, keyset),
      );
      yield* page;
      beyond = page.at(-1)?.row_id ?? null;
      if (page.length < PAGE) return;
    }
  }

  async function* csv(): AsyncGenerator<string> {
    const columns = await db.org(orgId, (connection) => rowColumns(connection, datasetId, search.version));
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
