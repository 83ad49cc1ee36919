import { z } from "zod";
import contentDisposition from "content-disposition";
import { ROW_STATUSES, rowContent, rowContentSchema } from "../../domain/evals/dataset.ts";
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
import { findDataset } from "../../stores/evals/datasets.ts";
import { listRows } from "../../stores/evals/dataset-rows.ts";
import type { DatasetRowRow } from "../../stores/evals/dataset-rows.ts";
import type { ApiDeps } from "../deps.ts";
import { ETAG, ifMatchHeaders, requireMatch, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { defineOperation, linkTo } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { pathId } from "../http/path-id.ts";
import { presentRow, rowSchema } from "./dataset-presenter.ts";
import { DATASET, datasetParams } from "./datasets.ts";

const MAX_ROWS = 1000;
const COMMON = { tag: "Evaluation datasets", auth: "secret" } as const;
const ROWS = `${DATASET}/rows` as const;
const ROW = `${ROWS}/{row_id}` as const;

const params = datasetParams.extend({ row_id: pathId("row") });
/** The values are the dataset's, whose versions keep them. */
const auditOf = auditAs("row", ({ external_id, split, tags, status, from_version }: DatasetRowRow) => ({
  external_id,
  split,
  tags,
  status,
  from_version,
}));

const versionQuery = z.object({
  version: z.int().min(0).max(2_147_483_647).optional().describe("A version of the dataset. Default: the present one."),
});
const searchQuery = versionQuery.extend({
  split: z.string().min(1).max(100).optional(),
  tag: z.string().min(1).max(100).optional(),
  status: z.enum(ROW_STATUSES).optional(),
});

const one = rowContentSchema.meta({ id: "DatasetRowInput" });
/** One row, or several under `rows`. */
const addBody = one
  .extend({ inputs: one.shape.inputs.optional(), rows: z.array(one).min(1).max(MAX_ROWS).optional() })
  .superRefine(({ rows, inputs, external_id, split }, context) => {
    if (rows === undefined && inputs === undefined)
      context.addIssue({ code: "custom", path: ["inputs"], message: "inputs are expected, or rows" });
    if (rows !== undefined && (inputs ?? external_id ?? split) != null)
      context.addIssue({ code: "custom", path: ["rows"], message: "beside rows nothing else is expected" });
  })
  .meta({ id: "DatasetRowsInput" });
const changeBody = rowContentSchema
  .extend({
    inputs: rowContentSchema.shape.inputs.optional(),
    expected_outputs: rowContentSchema.shape.expected_outputs.unwrap().optional(),
    metadata: rowContentSchema.shape.metadata.unwrap().optional(),
    tags: rowContentSchema.shape.tags.unwrap().optional(),
    status: z.enum(ROW_STATUSES).optional(),
  })
  .meta({ id: "DatasetRowChange" });
const addedSchema = z
  .union([rowSchema, z.object({ rows: z.array(rowSchema) })])
  .describe("The row; with `rows` an array, in the same order.")
  .meta({ id: "DatasetRowsAdded" });

/** `/v2/evals/datasets/{dataset_id}/rows`: the rows of a dataset, in any of its versions. */
export function createDatasetRowOperations(deps: ApiDeps): Operation[] {
  const { db, reads } = deps;
  const toResponse = (row: DatasetRowRow) => tagged(presentRow(row), revisionTag(row.from_version));
  const searchOf = (query: z.output<typeof searchQuery>, external_id?: string) => ({
    version: query.version ?? null,
    split: query.split ?? null,
    tag: query.tag ?? null,
    status: query.status ?? null,
    external_id: external_id ?? null,
  });

  return [
    defineOperation({
      ...COMMON,
      id: "listDatasetRows",
      method: "GET",
      path: ROWS,
      summary: "List the rows of a dataset",
      description:
        "The rows of the present version or of any earlier one. A version never changes. A page of long rows may end before it has `page_size` of them: `has_more` says so.",
      params: datasetParams,
      query: listQuery.extend({ ...searchQuery.shape, external_id: z.string().min(1).max(512).optional() }),
      success: { 200: { description: "A page of rows.", schema: pageOf(rowSchema, "DatasetRowPage") } },
      async handler({ params: { dataset_id }, query, principal: { org_id } }) {
        const search = searchOf(query, query.external_id);
        requireVersion(await db.org(org_id, (connection) => requireDataset(connection, dataset_id)), search.version);
        return listPage({
          list: "dataset-rows",
          orgId: org_id,
          query,
          filters: { dataset_id, ...search },
          fetch: (keyset) => reads.org(org_id, (connection) => listRows(connection, dataset_id, search, keyset)),
          idOf: (row) => row.row_id,
          present: presentRow,
          longRows: true,
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "addDatasetRows",
      method: "POST",
      path: ROWS,
      summary: "Add rows to a dataset",
      description: `One row, or up to ${MAX_ROWS} as \`{rows: [...]}\`: all of them are in the dataset's next version, or none is.`,
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
      exactNumbers: true,
      success: {
        201: {
          description: "The rows.",
          schema: addedSchema,
          links: { getDatasetRow: linkTo("getDatasetRow", ["row_id"], ["dataset_id"]) },
        },
      },
      async handler({ params: { dataset_id }, body, principal: { org_id }, newId, audit }) {
        const { rows: several, inputs = {}, ...rest } = body;
        const given = several ?? [{ ...rest, inputs }];
        const first = newId();
        // In the order of the request, and the same ones for the same request.
        const ids = given.map((_, index) => (index === 0 ? first : derivedId(first, `row ${index}`))).toSorted();
        const rows = given.map((row, index) => ({
          ...rowContent(row),
          row_id: ids[index] ?? first,
          source_type: "manual" as const,
          source_run_id: null,
        }));
        const locOf = (index: number) => (several ? ["body", "rows", index] : ["body"]);
        const added = (await addRows(deps, org_id, dataset_id, rows, locOf, audit)).map(presentRow);
        return { status: 201, body: several ? { rows: added } : added[0] };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "getDatasetRow",
      method: "GET",
      path: ROW,
      summary: "Get a row of a dataset",
      description: "As it is at present; `GET .../rows?version=` reads earlier ones.",
      params,
      query: versionQuery,
      success: { 200: { description: "The row.", schema: rowSchema, headers: ETAG } },
      async handler({ params: { dataset_id, row_id }, query: { version }, principal: { org_id } }) {
        return await db.org(org_id, async (connection) => {
          requireVersion(await requireDataset(connection, dataset_id), version ?? null);
          return toResponse(await requireRow(connection, dataset_id, row_id, version ?? null));
        });
      },
    }),
    defineOperation({
      ...COMMON,
      id: "changeDatasetRow",
      method: "PATCH",
      path: ROW,
      summary: "Change a row of a dataset",
      description: "The dataset's next version has it so; earlier ones keep it as it was.",
      params,
      headers: ifMatchHeaders,
      body: changeBody,
      wideBody: true,
      problems: ["conflict"],
      examples: { expected: { expected_outputs: { "out-0": "At ten." } }, archive: { status: "archived" } },
      exactNumbers: true,
      success: { 200: { description: "The row as it is now.", schema: rowSchema, headers: ETAG } },
      async handler({ params: { dataset_id, row_id }, headers, body, principal: { org_id }, audit }) {
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
    defineOperation({
      ...COMMON,
      id: "deleteDatasetRow",
      method: "DELETE",
      path: ROW,
      summary: "Remove a row from a dataset",
      description: "The dataset's next version does not have it; earlier ones keep it.",
      params,
      success: { 204: { description: "It is gone." } },
      async handler({ params: { dataset_id, row_id }, principal: { org_id }, audit }) {
        await deleteRow(db, org_id, dataset_id, row_id, auditOf(audit, row_id));
        return { status: 204 };
      },
    }),
    defineOperation({
      ...COMMON,
      id: "exportDatasetRows",
      audit: "always",
      method: "GET",
      path: `${DATASET}/export`,
      summary: "Download the rows of a dataset",
      description:
        "JSONL is exact. CSV has a column for each node and member of metadata, values other than texts as JSON; a cell that a spreadsheet would take for a formula begins with an apostrophe; rows that need more than 1000 columns are refused. Both can be imported.",
      params: datasetParams,
      query: searchQuery.extend({ format: z.enum(["csv", "jsonl"]).default("jsonl") }),
      success: {
        200: { description: "The file.", content: { "text/csv": z.string(), "application/jsonl": z.string() } },
      },
      async handler({ params: { dataset_id }, query, principal: { org_id } }) {
        const dataset = await db.org(org_id, (connection) => requireDataset(connection, dataset_id));
        requireVersion(dataset, query.version ?? null);
        const { format } = query;
        // Of one version, whatever happens meanwhile. A replica that does not have it yet would give a part of it.
        const { version = dataset.version } = query;
        const held = await reads.org(org_id, (connection) => findDataset(connection, dataset_id));
        const rows = held !== null && held.version >= version ? reads : db;
        const search = searchOf({ ...query, version });
        return {
          status: 200,
          type: format === "csv" ? "text/csv; charset=utf-8" : "application/jsonl; charset=utf-8",
          content: await exportRows(rows, org_id, dataset_id, search, format),
          headers: { "Content-Disposition": contentDisposition(`dataset-${dataset_id}.${format}`) },
        };
      },
    }),
  ];
}
