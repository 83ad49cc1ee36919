import { z } from "zod";
import { ROW_STATUSES, rowContent, rowContentSchema, ROW_SOURCES } from "../../domain/evals/dataset.ts";
import { derivedId } from "../../domain/derived-id.ts";
import {
  addRows,
  changeRow,
  deleteRow,
  requireDataset,
  requireRow,
  requireVersion,
} from "../../services/evals/datasets.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { exportRows } from "../../services/evals/export-rows.ts";
import { readsOf } from "../../services/system/reads.ts";
import { findDataset } from "../../stores/evals/datasets.ts";
import { listRows, type DatasetRowRow } from "../../stores/evals/dataset-rows.ts";
import { ETAG, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { fileNameHeader } from "../http/file-name-header.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { linksTo } from "../http/operation.ts";
import { asDeclared, givenId, named, namedStrict, pathId } from "../http/schemas.ts";
import { DATASET, datasetParams, values, define } from "./datasets.ts";

const rowSchema = named("DatasetRow", {
  row_id: z.uuid(),
  dataset_id: z.uuid(),
  version: z.int().describe("Dataset version that last changed this row."),
  external_id: z.string().nullable(),
  inputs: values,
  expected_outputs: values,
  metadata: values,
  split: z.string().nullable(),
  tags: z.array(z.string()),
  source: z.object({ type: z.enum(ROW_SOURCES), run_id: z.uuid().nullable() }),
  status: z.enum(ROW_STATUSES).describe("State of the row; experiments skip archived rows."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

function presentRow(row: DatasetRowRow): z.infer<typeof rowSchema> {
  return asDeclared(rowSchema, {
    ...row,
    version: row.from_version,
    source: { type: row.source_type, run_id: row.source_run_id },
  });
}

const MAX_ROWS = 1000;
const ROWS = `${DATASET}/rows` as const;
const ROW = `${ROWS}/{row_id}` as const;

const params = datasetParams.extend({ row_id: pathId("row") });
/** Values are typed by the dataset, whose versions keep the rows. */
const auditOf = auditAs("row", ({ external_id, split, tags, status, from_version }: DatasetRowRow) => ({
  external_id,
  split,
  tags,
  status,
  from_version,
}));

const versionQuery = z.object({
  version: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .optional()
    .describe("Version of the dataset. Default: the current version."),
});
const searchQuery = versionQuery.extend({
  split: z.string().min(1).max(100).optional(),
  tag: z.string().min(1).max(100).optional(),
  status: z.enum(ROW_STATUSES).optional(),
});

const one = namedStrict("DatasetRowInput", {
  ...rowContentSchema.shape,
  run_id: givenId.nullish().describe("The run that the row was made from. Erasing that run's user deletes the row."),
});
/** One row, or several under `rows`. */
const addBody = one
  .extend({ inputs: one.shape.inputs.optional(), rows: z.array(one).min(1).max(MAX_ROWS).optional() })
  .superRefine(({ rows, inputs, external_id, split, run_id }, context) => {
    if (rows === undefined && inputs === undefined)
      context.addIssue({ code: "custom", path: ["inputs"], message: "send either inputs or rows" });
    if (rows !== undefined && (inputs ?? external_id ?? split ?? run_id) != null)
      context.addIssue({ code: "custom", path: ["rows"], message: "with rows, no other field is allowed" });
  })
  .meta({ id: "DatasetRowsInput" });
const changeBody = namedStrict("DatasetRowChange", {
  ...rowContentSchema.shape,
  inputs: rowContentSchema.shape.inputs.optional(),
  expected_outputs: rowContentSchema.shape.expected_outputs.unwrap().optional(),
  metadata: rowContentSchema.shape.metadata.unwrap().optional(),
  tags: rowContentSchema.shape.tags.unwrap().optional(),
  status: z.enum(ROW_STATUSES).optional(),
});
const addedSchema = z
  .union([rowSchema, z.object({ rows: z.array(rowSchema) })])
  .describe("The row or, for a request with `rows`, an array in the same order.")
  .meta({ id: "DatasetRowsAdded" });

const toResponse = (row: DatasetRowRow) => tagged(presentRow(row), revisionTag(row.from_version));
const searchOf = (query: z.output<typeof searchQuery>, external_id?: string) => ({
  version: query.version ?? null,
  split: query.split ?? null,
  tag: query.tag ?? null,
  status: query.status ?? null,
  external_id: external_id ?? null,
});

/** `/v2/evals/datasets/{dataset_id}/rows`: the rows of a dataset, in any of its versions. */
export const datasetRowOperations = [
  define({
    id: "listDatasetRows",
    route: `GET ${ROWS}`,
    summary: "List the rows of a dataset",
    description:
      "Lists the rows of the current version or of an earlier one. Versions never change. A page of long rows can have fewer than `page_size` items; `has_more` tells whether more follow.",
    params: datasetParams,
    query: listQuery.extend({ ...searchQuery.shape, external_id: z.string().min(1).max(512).optional() }),
    success: { 200: { description: "A page of rows.", schema: pageOf(rowSchema) } },
    async handler({ params: { dataset_id }, query, principal: { org_id } }, { db, reads }) {
      const search = searchOf(query, query.external_id);
      requireVersion(await db.org(org_id, (connection) => requireDataset(connection, dataset_id)), search.version);
      return listPage("dataset-rows", org_id, query, {
        filters: { dataset_id, ...search },
        fetch: (keyset) => reads.org(org_id, (connection) => listRows(connection, dataset_id, search, keyset)),
        idOf: (row) => row.row_id,
        present: presentRow,
        longRows: true,
      });
    },
  }),
  define({
    id: "addDatasetRows",
    route: `POST ${ROWS}`,
    summary: "Add rows to a dataset",
    description: `Adds one row, or up to ${MAX_ROWS} rows as \`{rows: [...]}\`. They form one new version of the dataset: either all are added, or none.`,
    params: datasetParams,
    body: addBody,
    wideBody: true,
    idempotent: true,
    problems: ["conflict"],
    examples: {
      one: { inputs: { "in-0": "When do you open?" }, expected_outputs: { "out-0": "At nine." }, split: "test" },
      several: {
        rows: [{ inputs: { "in-0": "A" } }, { inputs: { "in-0": "B" }, external_id: "b-1", tags: ["short"] }],
      },
    },
    success: {
      201: {
        description: "The rows.",
        schema: addedSchema,
        links: linksTo("getDatasetRow", ["row_id"], ["dataset_id"]),
      },
    },
    async handler({ params: { dataset_id }, body, principal: { org_id }, newId, audit }, deps) {
      const { rows: several, inputs = {}, ...rest } = body;
      const given = several ?? [{ ...rest, inputs }];
      const first = newId();
      // IDs are in the order of the request, and a repeated request gets the same IDs.
      const ids = given.map((_, index) => (index === 0 ? first : derivedId(first, `row ${index}`))).toSorted();
      const rows = given.map(({ run_id = null, ...row }, index) => ({
        ...rowContent(row),
        row_id: ids[index] ?? first,
        source_type: run_id === null ? ("manual" as const) : ("run" as const),
        source_run_id: run_id,
      }));
      const locOf = (index: number) => (several ? ["body", "rows", index] : ["body"]);
      const added = (await addRows(deps, org_id, dataset_id, rows, locOf, audit)).map(presentRow);
      return { status: 201, body: several ? { rows: added } : added[0] };
    },
  }),
  define({
    id: "getDatasetRow",
    route: `GET ${ROW}`,
    summary: "Get a row of a dataset",
    description: "Returns the row in the current version. `GET .../rows?version=` lists the rows of earlier versions.",
    params,
    query: versionQuery,
    success: { 200: { description: "The row.", schema: rowSchema, headers: ETAG } },
    async handler({ params: { dataset_id, row_id }, query: { version }, principal: { org_id } }, { db }) {
      return await db.org(org_id, async (connection) => {
        requireVersion(await requireDataset(connection, dataset_id), version ?? null);
        return toResponse(await requireRow(connection, dataset_id, row_id, version ?? null));
      });
    },
  }),
  define({
    id: "changeDatasetRow",
    route: `PATCH ${ROW}`,
    summary: "Change a row of a dataset",
    description: "Changes the row. This creates a new version of the dataset; earlier versions keep the old row.",
    params,
    headers: ifMatchHeaders,
    body: changeBody,
    wideBody: true,
    problems: ["conflict"],
    examples: { expected: { expected_outputs: { "out-0": "At ten." } }, archive: { status: "archived" } },
    success: { 200: { description: "The updated row.", schema: rowSchema, headers: ETAG } },
    async handler({ params: { dataset_id, row_id }, headers, body, principal: { org_id }, audit }, deps) {
      const row = await changeRow(
        deps,
        org_id,
        dataset_id,
        row_id,
        body,
        (found) => requireMatch(headers["if-match"], revisionTag(found.from_version)),
        auditOf(audit, row_id),
      );
      return toResponse(row);
    },
  }),
  define({
    id: "deleteDatasetRow",
    route: `DELETE ${ROW}`,
    summary: "Delete a row of a dataset",
    description: "Deletes the row. This creates a new version of the dataset; earlier versions keep the row.",
    params,
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { dataset_id, row_id }, principal: { org_id }, audit }, { db }) =>
      deleteRow(db, org_id, dataset_id, row_id, auditOf(audit, row_id)),
  }),
  define({
    id: "exportDatasetRows",
    audit: "always",
    route: `GET ${DATASET}/export`,
    summary: "Download the rows of a dataset",
    description:
      "Returns all rows of a version as a file that can be imported again. JSONL is exact. CSV has one column per node and metadata field, with values other than text as JSON; cells that a spreadsheet would read as a formula start with an apostrophe. Rows that need more than 1000 CSV columns are rejected.",
    params: datasetParams,
    query: searchQuery.extend({ format: z.enum(["csv", "jsonl"]).default("jsonl") }),
    success: {
      200: { description: "The file.", content: { "text/csv": z.string(), "application/jsonl": z.string() } },
    },
    async handler({ params: { dataset_id }, query, principal: { org_id } }, { db, reads }) {
      const dataset = await db.org(org_id, (connection) => requireDataset(connection, dataset_id));
      requireVersion(dataset, query.version ?? null);
      const { format } = query;
      // Rows of one version, whatever happens meanwhile. A replica that does not have the version yet would return only part of it.
      const { version = dataset.version } = query;
      const held = await reads.org(org_id, (connection) => findDataset(connection, dataset_id));
      const rows = held !== null && held.version >= version ? reads : readsOf(db);
      const search = searchOf({ ...query, version });
      return {
        status: 200,
        type: format === "csv" ? "text/csv; charset=utf-8" : "application/jsonl; charset=utf-8",
        content: await exportRows(rows, org_id, dataset_id, search, format),
        headers: { "Content-Disposition": fileNameHeader(`dataset-${dataset_id}.${format}`) },
      };
    },
  }),
];
