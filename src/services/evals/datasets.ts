import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import {
  Problem,
  conflict,
  ValidationProblem,
  invalid,
  notFound,
  required,
  type ValidationIssue,
} from "../../domain/errors.ts";
import { distinct } from "../../domain/distinct.ts";
import { tooLong, type NewRow, type RowContent, type RowStatus } from "../../domain/evals/dataset.ts";
import type { JsonObject } from "../../domain/json.ts";
import { mergePatch } from "../../domain/patch.ts";
import { isUniqueViolation, type Database, type Db } from "../../stores/db.ts";
import {
  findDataset,
  insertDataset,
  markDatasetDeleted,
  nextVersion,
  setRowCount,
  updateDataset,
  type DatasetChange,
  type DatasetRow,
  type NewDataset,
} from "../../stores/evals/datasets.ts";
import { experimentsUsing } from "../../stores/evals/experiments.ts";
import {
  closeRow,
  findRow,
  insertRows,
  lockRunsOfRows,
  restoreRows,
  reviseRow,
  type DatasetRowRow,
} from "../../stores/evals/dataset-rows.ts";
import { changeChecked, stated, type Given } from "../change.ts";
import { requireProject } from "../projects/projects.ts";
import { recordCreated, recordDeleted, type Audit, type RowAudit } from "../audit/audit.ts";
import type { Parts } from "../parts.ts";

export type DatasetDeps = Parts<"db" | "evaluation">;

const DATASET = "dataset";
const INPUT_SCHEMA = ["body", "input_schema"] as const;

/** The dataset with this ID. Throws 404. */
export async function requireDataset(db: Db, datasetId: string, lock = false): Promise<DatasetRow> {
  return required(await findDataset(db, datasetId, lock), DATASET);
}

/** Throws 404 for a version that a dataset does not have yet. */
export function requireVersion({ version }: Pick<DatasetRow, "version">, wanted: number | null): void {
  if (wanted !== null && wanted > version) throw notFound("version of the dataset");
}

/** Creates a dataset. Throws 404 for an unknown project, 422 for a schema that cannot be used. */
export async function createDataset(
  deps: DatasetDeps,
  dataset: NewDataset,
  audited: RowAudit<DatasetRow>,
): Promise<DatasetRow> {
  const { org_id, project_id, input_schema } = dataset;
  if (project_id !== null) await requireProject(deps.db, org_id, project_id, "project");
  await requireSchema(deps, org_id, input_schema);
  return await deps.db.orgTransaction(org_id, async (connection) => {
    const created = await insertDataset(connection, dataset);
    const row = await requireDataset(connection, dataset.dataset_id);
    if (created) await recordCreated(connection, audited, row);
    return row;
  });
}

/** Changes a dataset. Calls `check` with the locked dataset before it changes anything. Throws 404 and 422. */
export async function changeDataset(
  deps: DatasetDeps,
  orgId: string,
  datasetId: string,
  change: DatasetChange,
  check: (dataset: DatasetRow) => void,
  audited: RowAudit<DatasetRow>,
): Promise<DatasetRow> {
  return await changeChecked(deps.db, orgId, {
    audited,
    read: (connection, lock) => requireDataset(connection, datasetId, lock),
    requireMatch: check,
    revisionOf: ({ revision }) => revision,
    async prepare(dataset) {
      const whole = { ...change, ...mergedMembers(["input_schema", "metadata"], dataset, change) };
      if (whole.project_id != null) await requireProject(deps.db, orgId, whole.project_id, "project");
      await requireSchema(deps, orgId, whole.input_schema ?? null);
      return whole;
    },
    async write(connection, dataset, whole) {
      if (changesNothing(dataset, whole)) return dataset;
      return (await updateDataset(connection, datasetId, whole)) ?? (await requireDataset(connection, datasetId));
    },
  });
}

const VALUES = z.record(z.string(), z.json());

/** The complete new values of those map fields that a request patches. */
function mergedMembers<Member extends string>(
  members: readonly Member[],
  present: Readonly<Record<Member, JsonObject | null>>,
  given: { readonly [Name in Member]?: JsonObject | null | undefined },
): { [Name in Member]?: JsonObject } {
  const changed = members.filter((member) => given[member] != null);
  return Object.fromEntries(
    changed.map((member) => [member, mergePatch(VALUES, present[member], given[member])]),
  ) as Record<Member, JsonObject>;
}

/** Whether all wanted values already hold; undefined means not wanted. */
export function changesNothing(is: object, wanted: object): boolean {
  return Object.entries(wanted).every(
    ([name, value]) => value === undefined || isDeepStrictEqual(is[name as keyof typeof is], value),
  );
}

/**
 * Deletes a dataset for all later requests; housekeeping removes its rows. Throws 404, and 409 if experiments use its
 * rows.
 */
export async function deleteDataset(
  { db }: Pick<DatasetDeps, "db">,
  orgId: string,
  datasetId: string,
  audited: RowAudit<DatasetRow>,
): Promise<void> {
  await db.orgTransaction(orgId, async (connection) => {
    const dataset = await requireDataset(connection, datasetId, true);
    const used_by = await experimentsUsing(connection, "dataset_id", datasetId, 100);
    refuseUsed(used_by, "Experiments use rows of this dataset: delete the experiments first.");
    await markDatasetDeleted(connection, datasetId);
    await recordDeleted(connection, audited, dataset);
  });
}

/** Throws 409 `in_use` if anything uses what is about to be deleted. */
export function refuseUsed(used_by: readonly unknown[], detail: string): void {
  if (used_by.length > 0) throw new Problem("in_use", detail, { extra: { used_by } });
}

async function requireSchema({ evaluation }: DatasetDeps, orgId: string, schema: JsonObject | null): Promise<void> {
  if (schema === null) return;
  const checked = await evaluation.schema(orgId, schema, []);
  if (!checked.ok) throw invalid(INPUT_SCHEMA, checked.message);
}

/** One message for each row whose inputs break the dataset's schema, by the row's index. */
export async function brokenInputs(
  { evaluation }: Pick<DatasetDeps, "evaluation">,
  { org_id, input_schema }: Pick<DatasetRow, "org_id" | "input_schema">,
  rows: readonly RowContent[],
): Promise<Map<number, string>> {
  const broken = new Map<number, string>();
  if (input_schema === null || rows.length === 0) return broken;
  const inputs = rows.map((row) => row.inputs);
  const checked = await evaluation.schema(org_id, input_schema, inputs);
  if (!checked.ok) throw invalid(["body"], `The dataset's input_schema is not valid: ${checked.message}`);
  for (const [index, [issue]] of checked.issues.entries()) {
    if (issue) broken.set(index, `inputs${issue.path.map((step) => `.${step}`).join("")} ${issue.message}`);
  }
  return broken;
}

async function requireInputs(
  deps: DatasetDeps,
  dataset: DatasetRow,
  rows: readonly RowContent[],
  locOf: (index: number) => ReadonlyArray<string | number>,
): Promise<void> {
  const issues: ValidationIssue[] = rows.flatMap((row, index) => {
    const msg = tooLong(row);
    return msg === undefined ? [] : [{ loc: locOf(index), msg, type: "too_long" }];
  });
  for (const [index, msg] of await brokenInputs(deps, dataset, rows)) {
    issues.push({ loc: [...locOf(index), "inputs"], msg, type: "value_error" });
  }
  if (issues.length > 0) throw new ValidationProblem(issues);
}

/** Throws 422 for rows whose source run is not found. Locks the other runs, so that an erasure waits and then finds the rows. */
async function requireSources(
  db: Db,
  rows: readonly NewRow[],
  locOf: (index: number) => ReadonlyArray<string | number>,
): Promise<void> {
  const named = distinct(rows.flatMap(({ source_run_id }) => source_run_id ?? []));
  if (named.length === 0) return;
  const found = new Set(await lockRunsOfRows(db, named));
  const issues = rows.flatMap(({ source_run_id }, index): ValidationIssue[] =>
    source_run_id === null || found.has(source_run_id)
      ? []
      : [{ loc: [...locOf(index), "run_id"], msg: "Run not found", type: "value_error" }],
  );
  if (issues.length > 0) throw new ValidationProblem(issues);
}

/** Most added rows that the audit log names; it only counts further rows. */
const NAMED = 20;

/**
 * Adds rows as one version. A repeated call with the same ids adds nothing. Throws 404, 409 for an external id in use,
 * and 422.
 */
export async function addRows(
  deps: DatasetDeps,
  orgId: string,
  datasetId: string,
  rows: readonly NewRow[],
  locOf: (index: number) => ReadonlyArray<string | number>,
  audit: Audit,
): Promise<DatasetRowRow[]> {
  const dataset = await deps.db.org(orgId, (connection) => requireDataset(connection, datasetId));
  await requireInputs(deps, dataset, rows, locOf);
  const adding = deps.db.orgTransaction(orgId, async (connection) => {
    await requireDataset(connection, datasetId, true);
    const [first] = rows;
    if (first !== undefined && (await findRow(connection, datasetId, first.row_id, null)) === null) {
      await requireSources(connection, rows, locOf);
      const version = await nextVersion(connection, datasetId, rows.length);
      await insertRows(connection, orgId, datasetId, version ?? 0, rows);
    }
    const added: DatasetRowRow[] = [];
    for (const { row_id } of rows) added.push(await requireRow(connection, datasetId, row_id, null));
    const row_ids = rows.slice(0, NAMED).map(({ row_id }) => row_id);
    await audit(connection, { target: { type: "dataset", id: datasetId }, after: { rows: rows.length, row_ids } });
    return added;
  });
  return await refusingTaken(adding);
}

/** A row in the current or a given version. Throws 404. */
export async function requireRow(
  db: Db,
  datasetId: string,
  rowId: string,
  version: number | null,
): Promise<DatasetRowRow> {
  return required(await findRow(db, datasetId, rowId, version), "row");
}

/** The changeable fields of a row; absent fields are unchanged. */
export type RowChange = Given<RowContent> & {
  readonly status?: RowStatus | undefined;
};

/**
 * Changes a row in the dataset's next version. Calls `check` with the current row before it changes anything. Throws
 * 404, 409 and 422.
 */
export async function changeRow(
  deps: DatasetDeps,
  orgId: string,
  datasetId: string,
  rowId: string,
  change: RowChange,
  check: (row: DatasetRowRow) => void,
  audited: RowAudit<DatasetRowRow>,
): Promise<DatasetRowRow> {
  const wholeOf = (row: DatasetRowRow): RowChange => ({
    ...stated(change),
    ...mergedMembers(["inputs", "expected_outputs", "metadata"], row, change),
  });
  const changing = changeChecked(deps.db, orgId, {
    read: async (connection, lock) => ({
      dataset: await requireDataset(connection, datasetId, lock),
      row: await requireRow(connection, datasetId, rowId, null),
    }),
    requireMatch: ({ row }) => check(row),
    audited: { ...audited, view: ({ row }) => audited.view(row) },
    // Depends only on the schema and this row, because other rows change all the time.
    revisionOf: ({ dataset, row }) => `${dataset.revision} ${row.from_version}`,
    async prepare({ dataset, row }) {
      const whole = wholeOf(row);
      if (whole.inputs !== undefined)
        await requireInputs(deps, dataset, [{ ...row, ...stated(whole) }], () => ["body"]);
      return whole;
    },
    async write(connection, { row }, whole) {
      if (changesNothing(row, whole)) return row;
      const next = { ...row, ...stated(whole) };
      const long = tooLong(rowContentOf(next));
      if (long !== undefined) throw invalid(["body"], long, "too_long");
      const version = (await nextVersion(connection, datasetId, 0)) ?? 0;
      await closeRow(connection, datasetId, rowId, version);
      return await reviseRow(connection, orgId, row, version, next);
    },
  });
  return await refusingTaken(changing);
}

function rowContentOf({ external_id, inputs, expected_outputs, metadata, split, tags }: RowContent): RowContent {
  return { external_id, inputs, expected_outputs, metadata, split, tags };
}

/** Restores the rows of an earlier version as the next version. Throws 404. */
export async function restoreVersion(
  db: Database,
  orgId: string,
  datasetId: string,
  version: number,
): Promise<DatasetRow> {
  return await db.orgTransaction(orgId, async (connection) => {
    const dataset = await requireDataset(connection, datasetId, true);
    requireVersion(dataset, version);
    if (await restoreRows(connection, datasetId, version, dataset.version + 1)) {
      await nextVersion(connection, datasetId, 0);
      await setRowCount(connection, datasetId);
    }
    return await requireDataset(connection, datasetId);
  });
}

/** Removes a row in the dataset's next version; earlier versions keep it. Throws 404. */
export async function deleteRow(
  db: Database,
  orgId: string,
  datasetId: string,
  rowId: string,
  audited: RowAudit<DatasetRowRow>,
): Promise<void> {
  await db.orgTransaction(orgId, async (connection) => {
    await requireDataset(connection, datasetId, true);
    await recordDeleted(connection, audited, await requireRow(connection, datasetId, rowId, null));
    await closeRow(connection, datasetId, rowId, (await nextVersion(connection, datasetId, -1)) ?? 0);
  });
}

/** Throws 409 if two rows of a dataset would have the same external id. */
async function refusingTaken<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isUniqueViolation(error, "eval_dataset_rows_external_key")) throw error;
    throw conflict("The dataset already has a row with this external_id: update that row.");
  }
}
