import { z } from "zod";
import type { JsonObject } from "../../domain/json.ts";
import {
  changeDataset,
  createDataset,
  deleteDataset,
  requireDataset,
  restoreVersion,
} from "../../services/evals/datasets.ts";
import { auditAs } from "../../services/audit/audit.ts";
import { listDatasets, type DatasetRow } from "../../stores/evals/datasets.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linksTo } from "../http/operation.ts";
import { asDeclared, givenId, named, namedStrict, pathId, tag, tagList } from "../http/schemas.ts";

export const values = z.record(z.string(), z.unknown());

const datasetSchema = named("Dataset", {
  dataset_id: z.uuid(),
  name: z.string(),
  description: z.string(),
  project_id: z.uuid().nullable(),
  version: z
    .int()
    .describe("Number of the current version. Each change of the rows increases it; 0 is the empty dataset."),
  row_count: z.int().describe("Number of rows in the current version, including archived rows."),
  input_schema: values.nullable().describe("JSON Schema 2020-12 that the inputs of every row must match."),
  metadata: values,
  tags: z.array(z.string()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const presentDataset = (dataset: DatasetRow) => asDeclared(datasetSchema, dataset);

const DATASETS = "/v2/evals/datasets";
export const DATASET = `${DATASETS}/{dataset_id}` as const;
export const datasetParams = z.object({ dataset_id: pathId("dataset") });

const name = z.string().trim().min(1).max(200);
const description = z.string().max(10_000);
const object = z.record(z.string(), z.json());
const inputSchema = object.nullable().describe("JSON Schema 2020-12 that the inputs of every row must match.");
const projectId = z.uuid().nullable().describe("ID of the project whose flow the rows are for.");

const createBody = namedStrict("DatasetCreate", {
  name,
  description: description.default(""),
  project_id: projectId.default(null),
  input_schema: inputSchema.default(null),
  metadata: object.default({}),
  tags: tagList.default([]),
});
const changeBody = namedStrict("DatasetChange", {
  name: name.optional(),
  description: description.optional(),
  project_id: projectId.optional(),
  input_schema: inputSchema.optional(),
  metadata: object.optional(),
  tags: tagList.optional(),
});
const RESTORED = {
  dataset_id: "0197f0a0-0000-7000-8000-000000000001",
  name: "Questions",
  description: "",
  project_id: null,
  version: 5,
  row_count: 20,
  input_schema: null,
  metadata: {},
  tags: ["support"],
  created_at: "2026-01-05T08:00:00.000Z",
  updated_at: "2026-01-31T09:30:00.000Z",
};
const restoreBody = namedStrict("DatasetRestore", {
  version: z.int().min(0).max(2_147_483_647).describe("The version to restore."),
});

const auditOf = auditAs("dataset", presentDataset);

const toResponse = (dataset: DatasetRow) => tagged(presentDataset(dataset), revisionTag(dataset.revision));

export const define = operationsOf({ tag: "Evaluation datasets", auth: "secret" });

/** `/v2/evals/datasets`: rows of inputs and expected outputs, in versions. */
export const datasetOperations = [
  define({
    id: "listDatasets",
    route: `GET ${DATASETS}`,
    summary: "List datasets",
    description: "Lists datasets, newest first, without their rows.",
    query: listQuery.extend({ project_id: givenId.optional(), tag: tag.optional() }),
    success: { 200: { description: "A page of datasets.", schema: pageOf(datasetSchema) } },
    async handler({ query, principal: { org_id } }, { reads }) {
      const search = { project_id: query.project_id ?? null, tag: query.tag ?? null };
      return listPage("datasets", org_id, query, {
        filters: search,
        fetch: (keyset) => reads.org(org_id, (connection) => listDatasets(connection, search, keyset)),
        idOf: (dataset) => dataset.dataset_id,
        present: presentDataset,
      });
    },
  }),
  define({
    id: "createDataset",
    route: `POST ${DATASETS}`,
    summary: "Create a dataset",
    description: "Creates an empty dataset. Add rows one by one or by an import.",
    body: createBody,
    idempotent: true,
    problems: ["not_found"],
    examples: {
      plain: { name: "Questions" },
      checked: {
        name: "Questions",
        description: "What customers asked in October",
        input_schema: {
          type: "object",
          required: ["in-0"],
          properties: { "in-0": { type: "string", minLength: 3 } },
        },
        tags: ["support"],
      },
    },
    success: { 201: created("The dataset, without rows.", datasetSchema, linksTo("getDataset", ["dataset_id"]), ETAG) },
    async handler({ body, principal: { org_id }, newId, audit }, deps) {
      const dataset_id = newId();
      const input_schema = body.input_schema as JsonObject | null;
      const metadata = body.metadata as JsonObject;
      const dataset = await createDataset(
        deps,
        { ...body, input_schema, metadata, dataset_id, org_id },
        auditOf(audit, dataset_id),
      );
      return asCreated(toResponse(dataset), `${DATASETS}/${dataset_id}`);
    },
  }),
  define({
    id: "getDataset",
    route: `GET ${DATASET}`,
    summary: "Get a dataset",
    description: "Returns the dataset with its current version. Every change of its rows creates a version.",
    params: datasetParams,
    success: { 200: { description: "The dataset.", schema: datasetSchema, headers: ETAG } },
    async handler({ params: { dataset_id }, principal: { org_id } }, { db }) {
      return toResponse(await db.org(org_id, (connection) => requireDataset(connection, dataset_id)));
    },
  }),
  define({
    id: "changeDataset",
    route: `PATCH ${DATASET}`,
    summary: "Change a dataset",
    description:
      "Changes a dataset's settings. Existing rows do not change. A new `input_schema` applies to rows written from now on.",
    params: datasetParams,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: { rename: { name: "Questions of October" }, tags: { tags: ["support", "golden"] } },
    success: { 200: { description: "The updated dataset.", schema: datasetSchema, headers: ETAG } },
    async handler({ params: { dataset_id }, headers, body, principal: { org_id }, audit }, deps) {
      const change = {
        ...body,
        input_schema: body.input_schema as JsonObject | null | undefined,
        metadata: body.metadata as JsonObject | undefined,
      };
      const dataset = await changeDataset(
        deps,
        org_id,
        dataset_id,
        change,
        matchesRevision(headers),
        auditOf(audit, dataset_id),
      );
      return toResponse(dataset);
    },
  }),
  define({
    id: "restoreDataset",
    route: `POST ${DATASET}/restore`,
    summary: "Restore an earlier version of a dataset",
    description: "Creates a new version with the rows of an earlier one. No version is lost.",
    params: datasetParams,
    body: restoreBody,
    idempotent: true,
    examples: { before: { version: 1 } },
    success: { 200: { description: "The updated dataset.", schema: datasetSchema, headers: ETAG, example: RESTORED } },
    async handler({ params: { dataset_id }, body: { version }, principal: { org_id } }, { db }) {
      return toResponse(await restoreVersion(db, org_id, dataset_id, version));
    },
  }),
  define({
    id: "deleteDataset",
    route: `DELETE ${DATASET}`,
    summary: "Delete a dataset",
    description:
      "Deletes a dataset with all its versions. Returns 409 `in_use` if experiments use its rows; `used_by` lists up to 100 of them.",
    params: datasetParams,
    problems: ["in_use"],
    success: { 204: { description: "Deleted." } },
    handler: ({ params: { dataset_id }, principal: { org_id }, audit }, deps) =>
      deleteDataset(deps, org_id, dataset_id, auditOf(audit, dataset_id)),
  }),
];
